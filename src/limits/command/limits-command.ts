// What `fairmill tenants`, `queues` and `kinds` have in common: a list by pages, and `set`, which changes the limits of one.
import { styleText } from "node:util";
import { type Command, Option } from "commander";
import { systemClock } from "../../base/clock.js";
import { toMs } from "../../base/duration.js";
import { rateWords } from "../../base/rate-words.js";
import { given, name, rate, weight, whole } from "../../cli/arguments.js";
import { type CliCommand, defineCommand, type GlobalOptions } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine, shellWord } from "../../cli/text.js";
import { spanOf } from "../../cli/times.js";
import type { Client } from "../../client/client.js";
import type { GateScope, Rate, TenantSettings } from "../limit-settings.js";
import { type Count, type GateOverview, NAMES_MAX, type NamePage } from "../overview-statements.js";

interface SetOptions {
  readonly weight?: number;
  readonly maxRunning?: number | false;
  readonly rate?: Pick<Rate, "limit" | "per"> | false;
  readonly rateHow?: "window" | "uniform";
  readonly rateAt?: "start" | "enqueue";
}

interface Options extends SetOptions {
  readonly after?: string;
  readonly limit?: number;
}

export interface LimitsCommand<Overview extends GateOverview> {
  readonly scope: GateScope;
  readonly summary: string;
  readonly description: string;
  readonly examples: CliCommand["examples"];
  /** What to say when the list is empty. */
  readonly nothing: string;
  list(client: Client, page: NamePage): Promise<Overview[]>;
  set(client: Client, name: string, settings: TenantSettings): Promise<void>;
  /** The columns of its own; limits and pause stand behind them. */
  readonly columns: Readonly<Record<string, (overview: Overview) => string>>;
  nameOf(overview: Overview): string;
}

export function limitsCommand<Overview extends GateOverview>(spec: LimitsCommand<Overview>): CliCommand {
  const plural = `${spec.scope}s`;
  return defineCommand<Options, [word: string | undefined, subject: string | undefined]>({
    name: plural,
    summary: spec.summary,
    description: spec.description,
    examples: spec.examples,
    declare: (command) => declare(command, spec.scope),
    run: async ({ args: [word, subject], options, out }) => {
      if (word === undefined) {
        refuse(settingsIn(options), `${plural} set <${spec.scope}>`, "say whose");
        const limit = options.limit ?? 50;
        const page = { limit, ...given({ after: options.after }) };
        const found = await withClient(await findTarget(options), (client) => spec.list(client, page));
        const next = found.length === limit ? spec.nameOf(found.at(-1)!) : null;
        const more = next === null ? "" : `\nMore of them: the same command with --after ${shellWord(next)}`;
        const text = found.length === 0 ? spec.nothing : `${pageOf(spec, found, out.columns, out.coloured)}${more}`;
        out.result({ [plural]: found, next }, text);
        return 0;
      }
      const settings = await change(spec, word, subject, options);
      out.result(
        { [spec.scope]: subject, changed: settings },
        `The ${spec.scope} "${oneLine(subject!)}" has ${wordsOf(settings).join(", ")}.`,
      );
      return 0;
    },
  });
}

function declare(command: Command, scope: GateScope): void {
  command
    .argument("[set]", `the word set: changes the limits of one ${scope}`)
    .argument(`[${scope}]`, `whose limits to change`, name(scope))
    .option("--limit <n>", `of the list: how many, at most ${NAMES_MAX}`, whole("--limit", 1, NAMES_MAX))
    .option("--after <name>", "of the list: only names behind this one", name("--after"));
  if (scope === "tenant")
    command.option("--weight <n>", "its part of the service, 0.01 to 1000; 1 is usual", weight("--weight"));
  command
    .option("--max-running <n>", "at most so many at once, across the fleet", whole("--max-running", 0, 1_000_000))
    .option("--no-max-running", "no such cap any more")
    .option("--rate <rate>", "at most so many in a time, like 100/1m", rate("--rate"))
    .option("--no-rate", "no such rate any more")
    .addOption(
      new Option("--rate-how <how>", "window: never more in any window; uniform: evenly spaced").choices([
        "window",
        "uniform",
      ]),
    )
    .addOption(
      new Option("--rate-at <moment>", "start: jobs wait; enqueue: they are refused").choices(["start", "enqueue"]),
    );
}

const settingsIn = ({ weight, maxRunning, rate, rateHow, rateAt }: SetOptions) =>
  given({ weight, maxRunning, rate, rateHow, rateAt });

function refuse(options: object, instead: string, why: string): void {
  const [first] = Object.keys(options);
  if (first === undefined) return;
  const option = `--${first.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  throw new UsageError(`${option}: ${why}, as in "fairmill ${instead} …".`);
}

async function change(
  spec: Pick<LimitsCommand<never>, "scope" | "set">,
  word: string,
  subject: string | undefined,
  options: Options & GlobalOptions,
): Promise<TenantSettings> {
  const usage = `fairmill ${spec.scope}s set <${spec.scope}> --max-running 20`;
  if (word !== "set") throw new UsageError(`Unknown word ${JSON.stringify(word)}. Write "${usage}".`);
  if (subject === undefined) throw new UsageError(`Whose limits? Write "${usage}".`);
  refuse(given({ limit: options.limit, after: options.after }), `${spec.scope}s`, "this is for the list");
  const { weight, maxRunning, rate, rateHow: how, rateAt: at } = options;
  if (!rate && (how !== undefined || at !== undefined))
    throw new UsageError("--rate-how and --rate-at say how a rate counts: give --rate, too.");
  const settings: TenantSettings = given({
    weight,
    maxRunning: maxRunning === false ? null : maxRunning,
    rate: rate === false ? null : rate && { ...rate, ...given({ how, at }) },
  });
  if (Object.keys(settings).length === 0) throw new UsageError(`What is to change? Write "${usage}".`);
  await withClient(await findTarget(options), (client) => spec.set(client, subject, settings));
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
export function shownRate({ limit, per, how, at }: Rate): string {
  return `${rateWords(limit, toMs(per, "per"))}${how === "uniform" ? ", evenly" : ""}${at === "enqueue" ? ", at enqueue" : ""}`;
}

export const shownCount = ({ count, more }: Count): string => `${count}${more ? "+" : ""}`;

function pageOf<Overview extends GateOverview>(
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
    PAUSED: ({ pausedAt }) => (pausedAt === null ? "" : `for ${spanOf(nowMs - pausedAt.getTime())}`),
  };
  return tableOf(
    Object.keys(columns),
    found.map((one) => Object.values(columns).map((column) => column(one))),
    columnsMax,
    (heading, cell) => (coloured && heading === "PAUSED" ? styleText("yellow", cell) : cell),
  );
}
