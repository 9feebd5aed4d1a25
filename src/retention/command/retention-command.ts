// `fairmill retention`: for how long ended jobs are kept, by kind, state and tenant, and what would go.
import type { Command } from "commander";
import type { Duration } from "../../base/duration.js";
import { duration, given, name } from "../../cli/arguments.js";
import { type CommandGroup, defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { spanOf } from "../../cli/times.js";
import { ENDED_STATES, type EndedState, type RetentionScope } from "../retention-rule.js";
import type { RetentionPreview } from "../retention-statements.js";

interface Scope {
  readonly kind?: string;
  readonly state?: EndedState;
  readonly tenant?: string;
}

interface Keeping extends Scope {
  readonly keep?: Duration | "forever";
  readonly keepHistory: Duration;
  readonly dryRun?: true;
}

const endedState = (text: string): EndedState => {
  const found = ENDED_STATES.find((state) => state === text);
  if (found === undefined) throw new UsageError(`--state: write ${ENDED_STATES.join(", ")}.`);
  return found;
};

const keep = (text: string): Duration | "forever" => (text === "forever" ? text : duration("--keep")(text));

const declareScope = (command: Command) =>
  command
    .option("--kind <kind>", "of this kind", name("--kind"))
    .option("--state <state>", `in this state: ${ENDED_STATES.join(", ")}`, endedState)
    .option("--tenant <tenant>", "of this tenant", name("--tenant"));

const declareGeneral = (command: Command) =>
  command.option(
    "--keep-history <duration>",
    "the general age of the history, as the workers have it",
    duration("--keep-history"),
    "30d" as Duration,
  );

const scopeOf = ({ kind, state, tenant }: Scope): RetentionScope => given({ kind, state, tenant });
const shownScope = (scope: { kind?: unknown; state?: unknown; tenant?: unknown }) =>
  (["tenant", "kind", "state"] as const)
    .filter((part) => scope[part] != null)
    .map((part) => `${part} ${oneLine(String(scope[part]))}`)
    .join(", ") || "all others";
const shownKeep = (keepMs: number | null) => (keepMs === null ? "for ever" : spanOf(keepMs));

const list = defineCommand<object, []>({
  name: "list",
  summary: "show all rules, the most specific first",
  examples: [["fairmill retention list", "what is kept for how long"]],
  declare: () => {},
  run: async ({ options, out }) => {
    const rules = await withClient(await findTarget(options), (client) => client.retention.list());
    const rows = rules.map((rule) => [shownScope(rule), shownKeep(rule.keepMs), rule.source]);
    const none = "There is no rule: every ended job is kept for the general age, keepHistory of the workers.";
    out.result({ rules }, rows.length === 0 ? none : tableOf(["JOBS", "KEPT", "BY"], rows, out.columns));
    return 0;
  },
});

const set = defineCommand<Keeping, []>({
  name: "set",
  summary: "keep ended jobs of a kind, a state or a tenant for another time",
  description: "Of the rules that fit a job the most specific one holds: tenant before kind before state.",
  examples: [
    ["fairmill retention set --state done --keep 7d", "jobs that are done go after a week"],
    ["fairmill retention set --kind invoice.send --keep 365d --dry-run", "what would go with it"],
    ["fairmill retention set --tenant acme --keep forever", "everything of acme stays"],
  ],
  declare: (command) =>
    void declareGeneral(
      declareScope(command)
        .option("--keep <duration>", 'how long, like 7d; or "forever"', keep)
        .option("--dry-run", "show what would go now, and set nothing"),
    ),
  run: async ({ options, out }) => {
    const { keep: wanted, dryRun, keepHistory } = options;
    if (wanted === undefined) throw new UsageError("For how long? Write --keep 7d.");
    const scope = scopeOf(options);
    await withClient(await findTarget(options), async ({ retention }) => {
      if (dryRun) {
        const found = await retention.preview({ keepHistory, rule: { ...scope, keep: wanted } });
        out.result({ preview: found }, previewText(found, out.columns));
      } else {
        await retention.set(scope, { keep: wanted });
        out.result({ ...scope, keep: wanted }, `Ended jobs of ${shownScope(scope)} are kept: ${wanted}.`);
      }
    });
    return 0;
  },
});

const remove = defineCommand<Scope, []>({
  name: "remove",
  summary: "take back the rule for exactly this kind, state and tenant",
  examples: [["fairmill retention remove --state done", "the general age again"]],
  declare: (command) => void declareScope(command),
  run: async ({ options, out }) => {
    const scope = scopeOf(options);
    const removed = await withClient(await findTarget(options), ({ retention }) => retention.remove(scope));
    const said = `There is no rule that was set for exactly ${shownScope(scope)}. See them: fairmill retention`;
    if (!removed) out.refusal({ ...scope, removed }, said);
    else out.result({ ...scope, removed }, `The rule for ${shownScope(scope)} is gone.`);
    return removed ? 0 : 1;
  },
});

const preview = defineCommand<{ readonly keepHistory: Duration }, []>({
  name: "preview",
  summary: "show what would go now, by day and rule; removes nothing",
  examples: [["fairmill retention preview", "how many jobs of each day go and stay"]],
  declare: (command) => void declareGeneral(command),
  run: async ({ options: { keepHistory, ...options }, out }) => {
    const found = await withClient(await findTarget(options), ({ retention }) => retention.preview({ keepHistory }));
    out.result({ preview: found }, previewText(found, out.columns));
    return 0;
  },
});

function previewText(found: readonly RetentionPreview[], columns: number): string {
  if (found.length === 0) return "The history is empty.";
  const day = (part: string) =>
    part.replace(/^job_history_(\d{4})(\d\d)(\d\d)$/, "$1-$2-$3").replace(/^job_history_/, "");
  const rows = found.map((one) => [
    ...[day(one.part), shownScope(one), shownKeep(one.keepMs)],
    ...[String(one.removed), String(one.kept)],
  ]);
  return tableOf(["DAY", "JOBS", "KEPT", "GO", "STAY"], rows, columns);
}

export const retention: CommandGroup = {
  name: "retention",
  summary: "how long ended jobs are kept, by kind, state and tenant",
  examples: [["fairmill retention", "all rules"]],
  usual: "list",
  verbs: [list, set, remove, preview],
};
