// What `fairmill tenants`, `queues` and `kinds` have in common: a list by pages, one of it, and its limits changed.
import { styleText } from "node:util";
import { type Command, Option } from "commander";
import { systemClock } from "../../base/clock.js";
import { toMs } from "../../base/duration.js";
import { rateWords } from "../../base/rate-words.js";
import { given, name, rate, weight, whole } from "../../cli/arguments.js";
import { type CliCommand, type CommandGroup, defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine, shellWord } from "../../cli/text.js";
import { spanOf } from "../../cli/times.js";
import type { Client } from "../../client/client.js";
import type { LimitScope, RateLimit, TenantSettings } from "../limit-settings.js";
import { type BoundedCount, type LimitOverview, NAMES_MAX, type NamePage } from "../overview-statements.js";

interface SetOptions {
  readonly weight?: number;
  readonly maxRunning?: number | false;
  readonly rate?: Pick<RateLimit, "limit" | "per"> | false;
  readonly rateHow?: "window" | "uniform";
  readonly rateAt?: "start" | "enqueue";
}

export interface LimitsCommand<Overview extends LimitOverview> {
  readonly scope: LimitScope;
  readonly summary: string;
  /** What the list holds. */
  readonly lists: string;
  readonly examples: CliCommand["examples"];
  readonly examplesOfSet: CliCommand["examples"];
  /** What to say when the list is empty, and of one that is not there. */
  readonly nothing: string;
  readonly notFound: string;
  readonly part: (client: Client) => {
    list(page: NamePage): Promise<Overview[]>;
    get(name: string): Promise<Overview | undefined>;
    set(name: string, settings: TenantSettings): Promise<void>;
  };
  /** The columns of its own; limits and pause stand behind them. */
  readonly columns: Readonly<Record<string, (overview: Overview) => string>>;
  nameOf(overview: Overview): string;
}

export const limitsCommand = <Overview extends LimitOverview>(spec: LimitsCommand<Overview>): CommandGroup => ({
  name: `${spec.scope}s`,
  summary: spec.summary,
  examples: [...spec.examples, ...spec.examplesOfSet],
  usual: "list",
  verbs: [listCommand(spec), getCommand(spec), setCommand(spec)],
});

function listCommand<Overview extends LimitOverview>(spec: LimitsCommand<Overview>): CliCommand {
  const plural = `${spec.scope}s`;
  return defineCommand<{ readonly after?: string; readonly limit: number }>({
    name: "list",
    summary: `list ${plural} by name, with their limits`,
    description: spec.lists,
    examples: spec.examples,
    declare: (command) =>
      void command
        .option("--limit <n>", `how many, at most ${NAMES_MAX}`, whole("--limit", 1, NAMES_MAX), 50)
        .option("--after <name>", "only names behind this one", name("--after")),
    run: async ({ options, out }) => {
      const { limit, after } = options;
      const page = { limit, ...given({ after }) };
      const found = await withClient(await findTarget(options), (client) => spec.part(client).list(page));
      const next = found.length === limit ? spec.nameOf(found.at(-1)!) : null;
      const more = next === null ? "" : `\nMore of them: the same command with --after ${shellWord(next)}`;
      const text = found.length === 0 ? spec.nothing : `${pageOf(spec, found, out.columns, out.coloured)}${more}`;
      out.result({ [plural]: found, next }, text);
      return 0;
    },
  });
}

function getCommand<Overview extends LimitOverview>(spec: LimitsCommand<Overview>): CliCommand {
  const { scope } = spec;
  return defineCommand<object, [subject: string]>({
    name: "get",
    summary: `show one ${scope} with its limits`,
    description: `Exit code 1 when there is nothing to say about it. ${spec.lists}`,
    examples: [[`fairmill ${scope}s get ${EXAMPLES[scope]}`, "what the list says of it"]],
    declare: (command) => void command.argument(`<${scope}>`, "which one", name(scope)),
    run: async ({ args: [subject], options, out }) => {
      const found = await withClient(await findTarget(options), (client) => spec.part(client).get(subject));
      if (found === undefined) {
        out.refusal({ [scope]: null }, `The ${scope} "${oneLine(subject)}" ${spec.notFound}`);
        return 1;
      }
      out.result(found, pageOf(spec, [found], out.columns, out.coloured));
      return 0;
    },
  });
}

const EXAMPLES: Record<LimitScope, string> = { tenant: "acme", queue: "mails", kind: "report.make" };

function setCommand<Overview extends LimitOverview>(spec: LimitsCommand<Overview>): CliCommand {
  const { scope } = spec;
  return defineCommand<SetOptions, [subject: string]>({
    name: "set",
    summary: `change the limits of one ${scope}, across the fleet`,
    description: "What is not named stays as it is.",
    examples: spec.examplesOfSet,
    declare: (command) => declareSet(command, scope),
    run: async ({ args: [subject], options, out }) => {
      const settings = settingsIn(options, scope);
      await withClient(await findTarget(options), (client) => spec.part(client).set(subject, settings));
      const said = `The ${scope} "${oneLine(subject)}" has ${wordsOf(settings).join(", ")}.`;
      out.result({ [scope]: subject, changed: settings }, said);
      return 0;
    },
  });
}

function declareSet(command: Command, scope: LimitScope): void {
  command.argument(`<${scope}>`, "whose limits to change", name(scope));
  if (scope === "tenant")
    command.option("--weight <n>", "its part of the service, 0.01 to 1000; 1 is usual", weight("--weight"));
  command
    .option("--max-running <n>", "at most n at once, across the fleet", whole("--max-running", 0, 1_000_000))
    .option("--no-max-running", "no such cap any more")
    .option("--rate <rate>", "at most this many in a period, like 100/1m", rate("--rate"))
    .option("--no-rate", "no such rate any more")
    .addOption(
      new Option("--rate-how <how>", "window: never more in any window; uniform: evenly spaced").choices([
        "window",
        "uniform",
      ]),
    )
    .addOption(
      new Option("--rate-at <when>", "start: jobs wait; enqueue: they are refused").choices(["start", "enqueue"]),
    );
}

function settingsIn(options: SetOptions, scope: LimitScope): TenantSettings {
  const { weight, maxRunning, rate, rateHow: how, rateAt: at } = options;
  if (!rate && (how !== undefined || at !== undefined))
    throw new UsageError("--rate-how and --rate-at say how a rate counts: give --rate, too.");
  const settings: TenantSettings = given({
    weight,
    maxRunning: maxRunning === false ? null : maxRunning,
    rate: rate === false ? null : rate && { ...rate, ...given({ how, at }) },
  });
  if (Object.keys(settings).length === 0)
    throw new UsageError(`What is to change? Write "fairmill ${scope}s set <${scope}> --max-running 20".`);
  return settings;
}

function wordsOf({ weight, maxRunning, rate }: TenantSettings): string[] {
  return [
    ...(weight === undefined ? [] : [`weight ${weight}`]),
    ...(maxRunning === undefined ? [] : [maxRunning === null ? "no cap" : `a cap of ${maxRunning} running`]),
    ...(rate === undefined ? [] : [rate === null ? "no rate" : `a rate of ${shownRate(rate)}`]),
  ];
}

/** "100 per minute", "5 per second, evenly", "5 per hour, at enqueue". */
export function shownRate({ limit, per, how, at }: RateLimit): string {
  return `${rateWords(limit, toMs(per, "per"))}${how === "uniform" ? ", evenly" : ""}${at === "enqueue" ? ", at enqueue" : ""}`;
}

export const shownCount = ({ count, more }: BoundedCount): string => `${count}${more ? "+" : ""}`;

function pageOf<Overview extends LimitOverview>(
  spec: LimitsCommand<Overview>,
  found: readonly Overview[],
  columnsMax: number,
  coloured: boolean,
): string {
  const nowMs = systemClock.now();
  const columns: Readonly<Record<string, (overview: Overview) => string>> = {
    [spec.scope.toUpperCase()]: spec.nameOf,
    ...spec.columns,
    MAX: ({ maxRunning }) => (maxRunning === null ? "" : String(maxRunning)),
    RATE: ({ rate }) => (rate === null ? "" : shownRate(rate)),
    PAUSED: ({ pausedAt, pausedUntil }) => {
      if (pausedUntil !== null) return `${spanOf(pausedUntil.getTime() - nowMs)} more`;
      return pausedAt === null ? "" : `for ${spanOf(nowMs - pausedAt.getTime())}`;
    },
  };
  return tableOf(
    Object.keys(columns),
    found.map((one) => Object.values(columns).map((column) => column(one))),
    columnsMax,
    (heading, cell) => (coloured && heading === "PAUSED" ? styleText("yellow", cell) : cell),
  );
}
