// `fairmill verify`: do the invariants hold in this live database?
import { systemClock } from "../../base/clock.js";
import { toMs } from "../../base/duration.js";
import { duration, whole } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { withDatabase } from "../../cli/database.js";
import { UsageError } from "../../cli/failure.js";
import { findTarget } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import type { Database } from "../../db/database.js";
import { checkFit } from "../../db/migrate/schema-state.js";
import { WALKS } from "../invariant.js";
import { INVARIANTS } from "../invariants.js";
import { type Verified, type VerifyProgress, verify as verifyDatabase } from "../verify.js";

interface Options {
  readonly rows?: number;
  readonly statement?: number | string;
}

const ROWS_MAX = 100_000;
const SHOWN_MAX = 10;

export const verify = defineCommand<Options, [ids: readonly string[]]>({
  name: "verify",
  summary: "check the invariants in this live database; read-only, a bounded part at a time",
  description: `Each question sees one snapshot, and what looks broken is looked at three times before it is said: workers may go on meanwhile. Exits with 1
when an invariant is broken, or when a part of a table could not be asked in time.`,
  examples: [
    ["fairmill verify", "all of them"],
    ["fairmill verify I3 I4", "credits and the outbox alone"],
    ["fairmill verify --json | jq '.invariants[] | select(.broken != [])'", "for programs"],
  ],
  declare: (command) =>
    void command
      .argument("[ids...]", "only these, like D1 or I3 (docs/explanation/invariants.md)")
      .option("--rows <n>", `rows of a part, at most ${ROWS_MAX} (default: 5000)`, whole("--rows", 1, ROWS_MAX))
      .option(
        "--statement <duration>",
        "how long one question may take; parts that take longer are halved (default: 10s)",
        duration("--statement"),
      ),
  run: async ({ args: [ids], options, out }) => {
    const invariants = chosen(ids);
    const target = await findTarget(options);
    const progress = out.json ? undefined : progressLine();
    const verified = await withDatabase(target, "fairmill verify", async (db: Database) => {
      await checkFit(db);
      return verifyDatabase(db, {
        clock: systemClock,
        invariants,
        ...(options.rows !== undefined && { rowsMax: options.rows }),
        ...(options.statement !== undefined && { statementMsMax: toMs(options.statement as "10s", "--statement") }),
        ...(progress && { onProgress: progress.tell }),
      });
    }).finally(() => progress?.end());
    const isWhole = verified.every(({ broken, unanswered }) => broken.length + unanswered.length === 0);
    out.result({ holds: isWhole, invariants: verified }, textOf(verified));
    return isWhole ? 0 : 1;
  },
});

function chosen(ids: readonly string[]) {
  if (ids.length === 0) return INVARIANTS;
  const known = [...new Set(INVARIANTS.map(({ id }) => id))];
  for (const id of ids)
    if (!known.includes(id))
      throw new UsageError(
        `There is no invariant ${JSON.stringify(id)} to ask a database. Known: ${known.join(", ")}.`,
      );
  return INVARIANTS.filter(({ id }) => ids.includes(id));
}

function textOf(verified: readonly Verified[]): string {
  const faults = verified.filter(({ broken, unanswered }) => broken.length + unanswered.length > 0);
  if (faults.length === 0) return `All ${verified.length} invariants hold.`;
  return [
    ...faults.flatMap(({ id, sentence, broken, unanswered }) => [
      ...(broken.length > 0 ? [`${id} is broken: ${sentence}.`, `   by ${listOf(broken)}`] : []),
      ...unanswered.map(
        ({ after, until }) =>
          `${id} could not be asked of what lies behind ${oneLine(after)}${until === undefined ? "" : ` up to ${oneLine(until)}`}: it takes longer than --statement allows.`,
      ),
    ]),
    `${verified.length - faults.length} of ${verified.length} invariants hold.`,
  ].join("\n");
}

const listOf = (ids: readonly string[]) =>
  `${ids.slice(0, SHOWN_MAX).map(oneLine).join(", ")}${ids.length > SHOWN_MAX ? ` and ${ids.length - SHOWN_MAX} more` : ""}`;

/** One line on stderr that is written over, where people watch. */
function progressLine() {
  const isWatched = process.stderr.isTTY === true;
  return {
    tell: ({ invariant, number, of, until }: VerifyProgress) => {
      if (!isWatched) return;
      const where = until === undefined ? "" : `, ${WALKS[invariant.walk].table} up to ${oneLine(until)}`;
      process.stderr.write(`\r\x1b[K${number}/${of} ${invariant.id}${where}`);
    },
    end: () => {
      if (isWatched) process.stderr.write("\r\x1b[K");
    },
  };
}
