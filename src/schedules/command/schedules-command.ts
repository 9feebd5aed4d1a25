// `fairmill schedules`: the schedules with their next runs, and what is done to one of them.

import { systemClock } from "../../base/clock.js";
import { ScheduleNotFoundError } from "../../base/errors.js";
import { cronSpec, given, name, whole } from "../../cli/arguments.js";
import { type CommandGroup, defineCommand, type GlobalOptions } from "../../cli/command.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine, shellWord } from "../../cli/text.js";
import { inZone, relative } from "../../cli/times.js";
import type { Client } from "../../client/client.js";
import { NAMES_MAX } from "../../limits/overview-statements.js";
import type { Schedule } from "../schedule-statements.js";
import { change } from "./change-command.js";

const COUNT_MAX = 1_000;

const asked = async <T>(options: GlobalOptions, work: (client: Client) => Promise<T>): Promise<T> =>
  withClient(await findTarget(options), work);

const list = defineCommand<{ readonly limit: number; readonly after?: string }>({
  name: "list",
  summary: "list schedules by name, with their next runs",
  examples: [
    ["fairmill schedules", "what ticks when"],
    ["fairmill schedules --after nightly --json", "the next page, for programs"],
  ],
  declare: (command) =>
    void command
      .option("--limit <n>", `how many, at most ${NAMES_MAX}`, whole("--limit", 1, NAMES_MAX), 50)
      .option("--after <name>", "only names behind this one", name("--after")),
  run: async ({ options, out }) => {
    const { limit, after } = options;
    const found = await asked(options, (client) => client.schedules.list({ limit, ...given({ after }) }));
    const next = found.length === limit ? found.at(-1)!.name : null;
    const more = next === null ? "" : `\nMore of them: the same command with --after ${shellWord(next)}`;
    out.result(
      { schedules: found, next },
      found.length === 0
        ? "There is no schedule. Declare one in code: client.schedules.set(name, { cron, job, input })."
        : `${listOf(found, out.columns)}${more}`,
    );
    return 0;
  },
});

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

const get = defineCommand<object, [schedule: string]>({
  name: "get",
  summary: "show one schedule",
  examples: [["fairmill schedules get nightly", "expression, zone, next and last tick, what is wrong with it"]],
  declare: (command) => void command.argument("<schedule>", "which one", name("schedule")),
  run: async ({ args: [schedule], options, out }) => {
    const found = await asked(options, (client) => client.schedules.get(schedule));
    if (found === undefined) throw new ScheduleNotFoundError(schedule);
    out.result(found, shownSchedule(found));
    return 0;
  },
});

function shownSchedule(one: Schedule): string {
  const nowMs = systemClock.now();
  const at = (time: Date | null) => time && `${inZone(time, one.timezone)} (${relative(time, nowMs)})`;
  const missed = typeof one.missed === "string" ? one.missed : `the latest ${one.missed.all}`;
  const facts: readonly (readonly [string, string | null])[] = [
    ["cron", `${one.cron}, ${one.timezone}`],
    ["job", `${oneLine(one.kind)}, queue ${oneLine(one.queue)}, tenant ${oneLine(one.tenant)}`],
    ["missed", missed],
    ["jitter", one.jitterMs === 0 ? null : `${one.jitterMs} ms`],
    ["next", at(one.nextRun)],
    ["paused", at(one.pausedAt)],
    ["last", at(one.lastTick)],
    ["last job", one.lastJobId],
    ["trouble", one.lastError && oneLine(`${one.lastError.code}: ${one.lastError.message}`)],
    ["changed", at(one.updatedAt)],
    ["edited", one.editedAt && `by hand, ${at(one.editedAt)}: not as the code declares it`],
  ];
  return [
    `Schedule ${oneLine(one.name)}`,
    ...facts.flatMap(([label, value]) => (value ? [`  ${label.padEnd(9)}${value}`] : [])),
  ].join("\n");
}

const next = defineCommand<{ readonly count: number; readonly timezone?: string }, [what: string]>({
  name: "next",
  summary: "show when a schedule ticks, or when an expression would",
  examples: [
    ["fairmill schedules next nightly --count 10", "its next ten runs"],
    ['fairmill schedules next "0 3 * * 1-5" --timezone Europe/Madrid', "of an expression that is none yet"],
  ],
  declare: (command) =>
    void command
      .argument("<schedule>", "which one, or an expression")
      .option("--count <n>", "how many", whole("--count", 1, COUNT_MAX), 5)
      .option("--timezone <zone>", 'with an expression: whose clocks (default: "UTC")'),
  run: async ({ args: [what], options, out }) => {
    const { count, timezone } = options;
    const { runs, zone } = await asked(options, async (client) => {
      const known = timezone === undefined ? await client.schedules.get(what) : undefined;
      if (known !== undefined) return { runs: await client.schedules.next(what, count), zone: known.timezone };
      // One word, without an at sign in front, was meant as a name.
      if (timezone === undefined && !/^@|\s/.test(what.trim())) throw new ScheduleNotFoundError(what);
      return { runs: await client.schedules.next(cronSpec(what, timezone), count), zone: timezone ?? "UTC" };
    });
    const nowMs = systemClock.now();
    const lines = runs.map((run) => `${inZone(run, zone)}  ${relative(run, nowMs)}`);
    out.result({ runs, timezone: zone }, lines.join("\n"));
    return 0;
  },
});

const pause = defineCommand<object, [schedule: string]>({
  name: "pause",
  summary: "make no more jobs by a schedule until it is resumed",
  description: "What it would have done until it is resumed is not made up for.",
  examples: [["fairmill schedules pause nightly", "no more jobs until `fairmill schedules resume nightly`"]],
  declare: (command) => void command.argument("<schedule>", "which one"),
  run: async ({ args: [schedule], options, out }) => {
    await asked(options, (client) => client.schedules.pause(schedule));
    out.result({ schedule, paused: true }, `The schedule "${oneLine(schedule)}" is paused.`);
    return 0;
  },
});

const resume = defineCommand<object, [schedule: string]>({
  name: "resume",
  summary: "let a paused schedule go on from now",
  examples: [["fairmill schedules resume nightly", "from its next tick on"]],
  declare: (command) => void command.argument("<schedule>", "which one"),
  run: async ({ args: [schedule], options, out }) => {
    const { nextRun, zone } = await asked(options, async (client) => {
      await client.schedules.resume(schedule);
      const [first] = await client.schedules.next(schedule, 1);
      return { nextRun: first!, zone: (await client.schedules.get(schedule))?.timezone ?? "UTC" };
    });
    const text = `The schedule "${oneLine(schedule)}" goes on; next run ${inZone(nextRun, zone)}.`;
    out.result({ schedule, paused: false, nextRun }, text);
    return 0;
  },
});

const run = defineCommand<object, [schedule: string]>({
  name: "run",
  summary: "enqueue the job of a schedule now; its ticks stay as they are",
  examples: [["fairmill schedules run nightly", "now, without a tick"]],
  declare: (command) => void command.argument("<schedule>", "which one"),
  run: async ({ args: [schedule], options, out }) => {
    const { id, created } = await asked(options, (client) => client.schedules.run(schedule));
    const text = created
      ? `Job ${id} is stored. Follow it: fairmill job ${id}`
      : `Job ${id} is there under the same unique key; nothing was added.`;
    out.result({ schedule, id, created }, text);
    return 0;
  },
});

const remove = defineCommand<object, [schedule: string]>({
  name: "remove",
  summary: "remove a schedule; the jobs that it made stay",
  description: "Code that declares a removed schedule makes it again.",
  examples: [["fairmill schedules remove nightly", "it ticks no more"]],
  declare: (command) => void command.argument("<schedule>", "which one"),
  run: async ({ args: [schedule], options, out }) => {
    const removed = await asked(options, (client) => client.schedules.remove(schedule));
    if (!removed) throw new ScheduleNotFoundError(schedule);
    out.result({ schedule, removed }, `The schedule "${oneLine(schedule)}" is removed; its jobs stay.`);
    return 0;
  },
});

export const schedules: CommandGroup = {
  name: "schedules",
  summary: "jobs by the clock: list them, show, change, pause, resume, run or remove one",
  description: "Schedules are declared in code, by client.schedules.set.",
  examples: [
    ["fairmill schedules", "what ticks when"],
    ["fairmill schedules next nightly --count 10", "the next ten runs of one"],
    ["fairmill schedules pause nightly", "no more jobs until `fairmill schedules resume nightly`"],
  ],
  usual: "list",
  verbs: [list, get, next, change, pause, resume, run, remove],
};
