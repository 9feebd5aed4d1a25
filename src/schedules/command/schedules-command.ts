// `fairmill cron`: the schedules with their next runs, and what is done to one of them.

import { systemClock } from "../../base/clock.js";
import { ScheduleNotFoundError } from "../../base/errors.js";
import { cronSpec, given, name, whole } from "../../cli/arguments.js";
import { type Call, defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine, shellWord } from "../../cli/text.js";
import { inZone, relative } from "../../cli/times.js";
import type { Client } from "../../client/client.js";
import { NAMES_MAX } from "../../limits/overview-statements.js";
import type { Schedule } from "../schedule-statements.js";

interface Options {
  readonly limit?: number;
  readonly after?: string;
  readonly count?: number;
  readonly timezone?: string;
}

type Args = [word: string | undefined, subject: string | undefined];
type CronCall = Call<Options, Args>;

const COUNT_MAX = 1_000;

export const cron = defineCommand<Options, Args>({
  name: "cron",
  summary: "list schedules with their next runs, or pause, resume, run or remove one",
  description: `Without a word, lists schedules by name. next shows when one ticks, or when an expression would. run enqueues the job of one now, by hand; its
ticks stay as they are. pause, resume and remove do what they say; code that declares a removed schedule makes it again.`,
  examples: [
    ["fairmill cron", "what ticks when"],
    ["fairmill cron next nightly --count 10", "its next ten runs"],
    ['fairmill cron next "0 3 * * 1-5" --timezone Europe/Madrid', "of an expression that is none yet"],
    ["fairmill cron run nightly", "now, by hand"],
    ["fairmill cron pause nightly", "no more jobs until `fairmill cron resume nightly`"],
  ],
  declare: (command) =>
    void command
      .argument("[word]", "next, pause, resume, run or remove; without it, the list")
      .argument("[schedule]", "which one; of next also an expression")
      .option("--limit <n>", `of the list: how many, at most ${NAMES_MAX}`, whole("--limit", 1, NAMES_MAX))
      .option("--after <name>", "of the list: only names behind this one", name("--after"))
      .option("--count <n>", "of next: how many (default: 5)", whole("--count", 1, COUNT_MAX))
      .option("--timezone <zone>", 'of next with an expression: whose clocks (default: "UTC")'),
  run: async (call) => {
    const [word, subject] = call.args;
    refuseForeign(call.options, word);
    if (word === undefined) return list(call);
    const does = WORDS[word];
    if (does === undefined)
      throw new UsageError(
        `Unknown word ${JSON.stringify(word)}. Write ${Object.keys(WORDS).join(", ")}, or leave it out for the list.`,
      );
    if (subject === undefined) throw new UsageError(`Which schedule? Write "fairmill cron ${word} <schedule>".`);
    return does(call, subject);
  },
});

/** Options that belong to another word. */
function refuseForeign({ limit, after, count, timezone }: Options, word: string | undefined): void {
  if (word !== undefined && (limit ?? after) !== undefined)
    throw new UsageError('--limit and --after are for the list. Write "fairmill cron".');
  if (word !== "next" && (count ?? timezone) !== undefined)
    throw new UsageError('--count and --timezone are for next. Write "fairmill cron next <schedule>".');
}

const asked = async <T>({ options }: CronCall, work: (client: Client) => Promise<T>): Promise<T> =>
  withClient(await findTarget(options), work);

async function list(call: CronCall): Promise<0> {
  const { options, out } = call;
  const limit = options.limit ?? 50;
  const found = await asked(call, (client) => client.schedules({ limit, ...given({ after: options.after }) }));
  const next = found.length === limit ? found.at(-1)!.name : null;
  const more = next === null ? "" : `\nMore of them: the same command with --after ${shellWord(next)}`;
  out.result(
    { schedules: found, next },
    found.length === 0
      ? "There is no schedule. Declare one in code: client.schedule(name, { cron, job, input })."
      : `${listOf(found, out.columns)}${more}`,
  );
  return 0;
}

function listOf(found: readonly Schedule[], columnsMax: number): string {
  const nowMs = systemClock.now();
  const rows = found.map((one) => [
    one.name,
    one.cron,
    one.timezone,
    one.nextRun ? relative(one.nextRun, nowMs) : "paused",
    one.lastTick ? relative(one.lastTick, nowMs) : "",
    one.kind,
    one.lastError?.message ?? "",
  ]);
  return tableOf(["NAME", "CRON", "ZONE", "NEXT", "LAST", "KIND", "TROUBLE"], rows, columnsMax);
}

const WORDS: Readonly<Record<string, (call: CronCall, subject: string) => Promise<0>>> = {
  next: async (call, subject) => {
    const { count = 5, timezone } = call.options;
    const { runs, zone } = await asked(call, async (client) => {
      const named = timezone === undefined ? await client.nextRuns(subject, count).catch(unlessUnknown) : undefined;
      if (named !== undefined) return { runs: named, zone: await zoneOf(client, subject) };
      // One word, without an at sign in front, was meant as a name.
      if (timezone === undefined && !/^@|\s/.test(subject.trim())) throw new ScheduleNotFoundError(subject);
      return { runs: await client.nextRuns(cronSpec(subject, timezone), count), zone: timezone ?? "UTC" };
    });
    const nowMs = systemClock.now();
    const lines = runs.map((run) => `${inZone(run, zone)}  ${relative(run, nowMs)}`);
    call.out.result({ runs, timezone: zone }, lines.join("\n"));
    return 0;
  },
  pause: async (call, subject) => {
    await asked(call, (client) => client.pauseSchedule(subject));
    call.out.result({ schedule: subject, paused: true }, `The schedule "${oneLine(subject)}" is paused.`);
    return 0;
  },
  resume: async (call, subject) => {
    const { nextRun, zone } = await asked(call, async (client) => {
      await client.resumeSchedule(subject);
      const [next] = await client.nextRuns(subject, 1);
      return { nextRun: next!, zone: await zoneOf(client, subject) };
    });
    const text = `The schedule "${oneLine(subject)}" goes on; next run ${inZone(nextRun, zone)}.`;
    call.out.result({ schedule: subject, paused: false, nextRun }, text);
    return 0;
  },
  run: async (call, subject) => {
    const { id, created } = await asked(call, (client) => client.runSchedule(subject));
    const text = created
      ? `Job ${id} is stored. Follow it: fairmill job ${id}`
      : `Job ${id} is there under the same unique key; nothing was added.`;
    call.out.result({ schedule: subject, id, created }, text);
    return 0;
  },
  remove: async (call, subject) => {
    const removed = await asked(call, (client) => client.unschedule(subject));
    if (!removed) throw new ScheduleNotFoundError(subject);
    call.out.result({ schedule: subject, removed }, `The schedule "${oneLine(subject)}" is removed; its jobs stay.`);
    return 0;
  },
};

/** Schedules are listed by name and there are few of them: nearly always this is one page. */
async function zoneOf(client: Client, schedule: string): Promise<string> {
  for (let after: string | undefined; ; ) {
    const page = await client.schedules({ limit: NAMES_MAX, ...given({ after }) });
    const found = page.find(({ name }) => name === schedule);
    if (found !== undefined || page.length < NAMES_MAX) return found?.timezone ?? "UTC";
    after = page.at(-1)!.name;
  }
}

function unlessUnknown(error: unknown): undefined {
  if (error instanceof ScheduleNotFoundError) return undefined;
  throw error;
}
