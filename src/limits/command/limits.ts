// `fairmill limits`: named limits, what they have left, and how to spend or reset them.
import { systemClock } from "../../base/clock.js";
import { rateWords } from "../../base/rate-words.js";
import { given, name, whole } from "../../cli/arguments.js";
import { type CommandGroup, defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine, shellWord } from "../../cli/text.js";
import { relative } from "../../cli/times.js";
import { NAMES_MAX } from "../overview-statements.js";
import { shownCount } from "./limits-command.js";

interface KeyOption {
  readonly key?: string;
}

const list = defineCommand<{ readonly after?: string; readonly limit: number }>({
  name: "list",
  summary: "list named limits, with their windows and how many jobs wait for them",
  examples: [["fairmill limits", "all limits that definitions use"]],
  declare: (command) =>
    void command
      .option("--limit <n>", `how many, at most ${NAMES_MAX}`, whole("--limit", 1, NAMES_MAX), 50)
      .option("--after <name>", "only names behind this one", name("--after")),
  run: async ({ options, out }) => {
    const { limit, after } = options;
    const page = { limit, ...given({ after }) };
    const found = await withClient(await findTarget(options), (client) => client.limits.list(page));
    const next = found.length === limit ? found.at(-1)!.name : null;
    const more = next === null ? "" : `\nMore of them: the same command with --after ${shellWord(next)}`;
    const rows = found.map((one) => [
      one.name,
      one.windows.map(({ unit, limit, perMs }) => `${rateWords(limit, perMs)} (${unit})`).join(", "),
      shownCount(one.waiting),
    ]);
    const nothing = "There is no named limit yet. Make one with defineLimit, and name it in limits.uses of a job.";
    out.result(
      { limits: found, next },
      found.length === 0 ? nothing : `${tableOf(["LIMIT", "WINDOWS", "WAITING"], rows, out.columns)}${more}`,
    );
    return 0;
  },
});

const available = defineCommand<KeyOption, [limit: string]>({
  name: "available",
  summary: "show what a limit has left, window by window",
  examples: [["fairmill limits available openai --key key-1", "used, owed and left for this key"]],
  declare: (command) =>
    void command.argument("<limit>", "which limit", name("limit")).option("--key <key>", "for this key; default: none"),
  run: async ({ args: [limit], options, out }) => {
    const windows = await withClient(await findTarget(options), (client) =>
      client.limits.available(limit, options.key ?? ""),
    );
    const nowMs = systemClock.now();
    const rows = windows.map(({ unit, limit: most, perMs, used, owed, available: left, openAt }) => [
      ...[unit, rateWords(most, perMs), String(used), String(owed), String(left)],
      openAt === null ? "" : relative(openAt, nowMs),
    ]);
    out.result(
      { limit, key: options.key ?? "", windows },
      tableOf(["UNIT", "LIMIT", "USED", "OWED", "LEFT", "NEXT"], rows, out.columns),
    );
    return 0;
  },
});

const use = defineCommand<KeyOption, [limit: string, units: string[]]>({
  name: "use",
  summary: "spend units of a limit",
  description: "What the windows have no room for is owed, and delays the jobs that would start next.",
  examples: [["fairmill limits use openai tokens=1730 --key key-1", "used by something that is no job"]],
  declare: (command) =>
    void command
      .argument("<limit>", "which limit", name("limit"))
      .argument("<units...>", "how many of what, like tokens=1730")
      .option("--key <key>", "for this key; default: none"),
  run: async ({ args: [limit, given], options, out }) => {
    const units = Object.fromEntries(given.map(unitsOf));
    await withClient(await findTarget(options), (client) => client.limits.use(limit, units, options.key ?? ""));
    out.result(
      { limit, key: options.key ?? "", used: units },
      `Spent of the limit "${oneLine(limit)}": ${given.join(", ")}.`,
    );
    return 0;
  },
});

function unitsOf(text: string): [unit: string, count: number] {
  const [, unit, count] = /^(\w+)=(\d{1,10})$/.exec(text) ?? [];
  if (unit === undefined) throw new UsageError(`"${oneLine(text)}" is no number of units. Write it like tokens=1730.`);
  return [unit, Number(count)];
}

const reset = defineCommand<KeyOption, [limit: string]>({
  name: "reset",
  summary: "empty the windows of a limit: nothing counts and nothing is owed any more",
  examples: [["fairmill limits reset openai --key key-1", "the provider has raised its limit, say"]],
  declare: (command) =>
    void command.argument("<limit>", "which limit", name("limit")).option("--key <key>", "for this key; default: none"),
  run: async ({ args: [limit], options, out }) => {
    await withClient(await findTarget(options), (client) => client.limits.reset(limit, options.key ?? ""));
    out.result({ limit, key: options.key ?? "", reset: true }, `The limit "${oneLine(limit)}" is empty.`);
    return 0;
  },
});

export const limits: CommandGroup = {
  name: "limits",
  summary: "named limits: list them, show what is left, spend or reset one",
  examples: [...list.examples!, ...available.examples!, ...use.examples!, ...reset.examples!],
  usual: "list",
  verbs: [list, available, use, reset],
};
