// `fairmill schedules change`: parts of a schedule by hand, with a look at its next runs before anything is saved.
import { systemClock } from "../../base/clock.js";
import type { Duration } from "../../base/duration.js";
import { ScheduleNotFoundError } from "../../base/errors.js";
import { cronSpec, duration, given, name } from "../../cli/arguments.js";
import { defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { definitionOf, readPayload } from "../../cli/payload.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { inZone, relative } from "../../cli/times.js";
import { MISSED_MAX, type Missed } from "../schedule.js";

interface Options {
  readonly cron?: string;
  readonly timezone?: string;
  readonly missed?: Missed;
  readonly jitter?: Duration;
  readonly input?: string;
  readonly paused?: boolean;
  readonly dryRun?: boolean;
}

const RUNS = 5;

function missed(text: string): Missed {
  if (text === "skip" || text === "once") return text;
  const all = /^\d+$/.test(text) ? Number(text) : 0;
  if (all >= 1 && all <= MISSED_MAX) return { all };
  throw new UsageError(`--missed: write skip, once, or how many of the latest to make up for, 1 to ${MISSED_MAX}.`);
}

export const change = defineCommand<Options, [schedule: string]>({
  name: "change",
  summary: "change parts of a schedule; what is not named stays as it is",
  description: `Code that declares the same schedule at its next start leaves the change alone; code that declares another one replaces it.
When the config has a definition of the kind, the input must fit its schema.`,
  examples: [
    ['fairmill schedules change nightly --cron "0 4 * * *" --dry-run', "its next five runs then; nothing is saved"],
    ['fairmill schedules change nightly --cron "0 4 * * *" --timezone Europe/Madrid', "at four instead"],
    ["fairmill schedules change nightly --input '{\"days\":7}'", "with another input"],
  ],
  declare: (command) =>
    void command
      .argument("<schedule>", "which one", name("schedule"))
      .option("--cron <expression>", "when")
      .option("--timezone <zone>", "whose clocks")
      .option("--missed <policy>", "of missed ticks: skip, once, or how many of the latest", missed)
      .option("--jitter <duration>", "jobs start up to this long after their tick", duration("--jitter"))
      .option("--input <json>", 'the input of its jobs, or "-" for stdin')
      .option("--paused", "make no more jobs by it")
      .option("--no-paused", "let it go on")
      .option("--dry-run", "show its next five runs, and save nothing"),
  run: async ({ args: [schedule], options, out }) => {
    const { cron, timezone, missed: policy, jitter, paused, dryRun = false } = options;
    const input = options.input === undefined ? undefined : await readPayload(options.input);
    const wanted = given({ cron, timezone, missed: policy, jitter, input, paused });
    if (Object.keys(wanted).length === 0) throw new UsageError("Say what is to change, like --cron or --paused.");
    const target = await findTarget(options, "handlers");
    const { outcome, runs, zone } = await withClient(target, async (client) => {
      const found = await client.schedules.get(schedule);
      if (found === undefined) throw new ScheduleNotFoundError(schedule);
      const spec = cronSpec(cron ?? found.cron, timezone ?? found.timezone);
      const job = input === undefined ? undefined : definitionOf(target.config?.settings, found.kind);
      const unchangedSince = found.updatedAt;
      const made = dryRun
        ? undefined
        : await client.schedules.change(schedule, { ...wanted, ...given({ job }), unchangedSince });
      const isPaused = paused ?? found.pausedAt !== null;
      const next = isPaused ? [] : await client.schedules.next(dryRun ? spec : schedule, RUNS);
      return { outcome: made?.outcome ?? "previewed", runs: next, zone: spec.timezone };
    });
    const nowMs = systemClock.now();
    const head = {
      previewed: `The schedule "${oneLine(schedule)}" would run next:`,
      changed: `The schedule "${oneLine(schedule)}" is changed. It runs next:`,
      same: `The schedule "${oneLine(schedule)}" was like that already. It runs next:`,
    }[outcome];
    const lines = runs.map((run) => `  ${inZone(run, zone)}  ${relative(run, nowMs)}`);
    out.result(
      { schedule, outcome, runs, timezone: zone },
      [head, ...(lines.length ? lines : ["  not while it is paused"])].join("\n"),
    );
    return 0;
  },
});
