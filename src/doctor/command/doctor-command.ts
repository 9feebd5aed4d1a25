// `fairmill doctor`: is this database set up well, and does the fleet do what it should?
import { systemClock } from "../../base/clock.js";
import { type Duration, toMs } from "../../base/duration.js";
import { duration } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { withDatabase } from "../../cli/database.js";
import { findTarget } from "../../cli/target.js";
import { indented, manyLines } from "../../cli/text.js";
import type { Config } from "../../config/config.js";
import { CHECK_NAMES, examine } from "../examine.js";
import type { Finding } from "../finding.js";

interface Options {
  readonly platformGrace?: Duration;
}

/** As in a worker's stop: to write the last verdicts and to say goodbye. */
const LAST_WORDS_MS = 10_000;
/** What Kubernetes gives unless a pod says otherwise. */
const KUBERNETES_GRACE_MS = 30_000;

export const doctor = defineCommand<Options>({
  name: "doctor",
  summary: "look for what is set up badly: each finding with the SQL or setting that mends it",
  description: `Reads only, and each question has five seconds. Looks at ${CHECK_NAMES.join(", ")}. Exits with 1 when a finding is an error.`,
  examples: [
    ["fairmill doctor", "before the first deployment, and when something is slow"],
    ["fairmill doctor --platform-grace 30s", "does a stop fit into what the platform gives?"],
    ["fairmill doctor --json | jq -r '.findings[].fix'", "what to do, for programs"],
  ],
  declare: (command) =>
    void command.option(
      "--platform-grace <duration>",
      "how long the platform waits after SIGTERM before it kills (in Kubernetes: 30s unless given)",
      duration("--platform-grace"),
    ),
  run: async ({ options, out }) => {
    const target = await findTarget(options, "codec");
    const findings = await withDatabase(target, "fairmill doctor", (db) =>
      examine(db, {
        clock: systemClock,
        stopMs: stopMsOf(target.config?.settings),
        platformGraceMs: platformGraceMs(options),
      }),
    );
    const hasErrors = findings.some(({ level }) => level === "error");
    out.result({ healthy: findings.length === 0, findings }, textOf(findings));
    return hasErrors ? 1 : 0;
  },
});

/** Undefined: no config says anything of a worker, so there is nothing to compare. */
function stopMsOf(config: Config | undefined): number | undefined {
  if (config === undefined) return undefined;
  // A supervisor waits as long as the kind may that has most.
  const graces = [config.grace ?? "25s", ...Object.values(config.worker?.graceByKind ?? {})];
  const graceMs = Math.max(...graces.map((grace) => toMs(grace, "grace")));
  return graceMs + toMs(config.abortGrace ?? "5s", "abortGrace") + LAST_WORDS_MS;
}

function platformGraceMs({ platformGrace }: Options): number | undefined {
  if (platformGrace !== undefined) return toMs(platformGrace, "--platform-grace");
  return process.env["KUBERNETES_SERVICE_HOST"] === undefined ? undefined : KUBERNETES_GRACE_MS;
}

function textOf(findings: readonly Finding[]): string {
  if (findings.length === 0) return `Nothing to find fault with: ${CHECK_NAMES.length} checks.`;
  const blocks = findings.map(({ check, level, what, why, fix }) =>
    [`${level}: ${manyLines(what)} [${check}]`, indented(manyLines(why)), indented(`Fix: ${manyLines(fix)}`)].join(
      "\n",
    ),
  );
  const count = (level: string) => {
    const found = findings.filter((finding) => finding.level === level).length;
    return `${found} ${level}${found === 1 ? "" : "s"}`;
  };
  return `${blocks.join("\n\n")}\n\n${count("error")}, ${count("warning")}, ${count("note")}.`;
}
