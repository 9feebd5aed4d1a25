// `fairmill providers`: how providers are and what they cost, and opening and closing them by hand.
import { systemClock } from "../../base/clock.js";
import type { Duration } from "../../base/duration.js";
import { duration, given, name, whole } from "../../cli/arguments.js";
import { type CommandGroup, defineCommand } from "../../cli/command.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { relative, spanOf } from "../../cli/times.js";
import { COST_GROUPS, type CostGroup, type CostSum, type ProviderState } from "../provider-statements.js";
import { ProviderNotFoundError, type Providers } from "../providers-client.js";

const NONE = "No provider is known yet: a worker whose jobs need one reports it when it starts.";

const list = defineCommand<object, []>({
  name: "list",
  summary: "show all providers: open or closed, calls under way, latency",
  examples: [["fairmill providers list", "all of them"]],
  declare: () => {},
  run: async ({ options, out }) => {
    const providers = await withClient(await findTarget(options), (client) => client.providers.list());
    const rows = providers.map((one) => [
      one.name,
      stateOf(one),
      `${one.inFlight}${one.limits.inFlight === null ? "" : ` of ${one.limits.inFlight}`}`,
      String(one.waiting),
      one.limits.perSecond === null ? "–" : `${one.limits.perSecond}/s`,
      String(one.recent.calls),
      one.recent.calls === 0 ? "–" : `${Math.round((one.recent.failures / one.recent.calls) * 100)} %`,
      one.recent.p95Ms === null ? "–" : spanOf(one.recent.p95Ms),
    ]);
    const heads = ["PROVIDER", "STATE", "IN FLIGHT", "WAITING", "PACE", "CALLS 5M", "FAILED", "P95"];
    out.result({ providers }, rows.length === 0 ? NONE : tableOf(heads, rows, out.columns));
    return 0;
  },
});

const show = defineCommand<{ readonly limit: number }, [provider: string]>({
  name: "show",
  summary: "show a provider and what became of it lately",
  examples: [["fairmill providers show pixian", "its state, and its last changes"]],
  declare: (command) =>
    void command
      .argument("<provider>", "its name", name("provider"))
      .option("--limit <n>", "how many changes, at most 200", whole("--limit", 1, 200), 20),
  run: async ({ args: [provider], options, out }) => {
    const [state, events] = await withClient(
      await findTarget(options),
      async ({ providers }) =>
        [await found(providers, provider), await providers.events(provider, { limit: options.limit })] as const,
    );
    const nowMs = systemClock.now();
    const rows = events.map(({ at, event, until }) => [
      relative(at, nowMs),
      event,
      until === null ? "" : relative(until, nowMs),
    ]);
    const kinds = state.kinds.length === 0 ? "No kind needs it." : `Needed by ${state.kinds.map(oneLine).join(", ")}.`;
    const changes =
      rows.length === 0 ? "Nothing has changed yet." : tableOf(["WHEN", "CHANGE", "UNTIL"], rows, out.columns);
    out.result({ ...state, events }, `Provider ${oneLine(state.name)}: ${stateOf(state)}. ${kinds}\n\n${changes}`);
    return 0;
  },
});

interface CloseOptions {
  readonly for?: Duration;
  readonly note?: string;
}

const close = defineCommand<CloseOptions, [provider: string]>({
  name: "close",
  summary: "close a provider: no call begins, and no job starts that needs it",
  examples: [
    ["fairmill providers close pixian --for 10m", "for ten minutes"],
    ['fairmill providers close pixian --note "they migrate"', "until it is opened"],
  ],
  declare: (command) =>
    void command
      .argument("<provider>", "its name", name("provider"))
      .option("--for <duration>", "for how long, like 10m", duration("--for"))
      .option("--note <text>", "why, for people"),
  run: async ({ args: [provider], options, out }) => {
    const how = given({ for: options.for, note: options.note });
    await withClient(await findTarget(options), (client) => client.providers.close(provider, how));
    out.result({ provider, closed: true }, `Closed. Open it again: fairmill providers open ${oneLine(provider)}`);
    return 0;
  },
});

const open = defineCommand<object, [provider: string]>({
  name: "open",
  summary: "open a provider, whatever closed it",
  examples: [["fairmill providers open pixian", "its calls, and its jobs, go on"]],
  declare: (command) => void command.argument("<provider>", "its name", name("provider")),
  run: async ({ args: [provider], options, out }) => {
    await withClient(await findTarget(options), (client) => client.providers.open(provider));
    out.result({ provider, closed: false }, "Open.");
    return 0;
  },
});

const reset = defineCommand<object, [provider: string]>({
  name: "reset",
  summary: "open a provider, and forget what was learned of it",
  examples: [["fairmill providers reset pixian", "results, pace and closings are gone"]],
  declare: (command) => void command.argument("<provider>", "its name", name("provider")),
  run: async ({ args: [provider], options, out }) => {
    await withClient(await findTarget(options), (client) => client.providers.reset(provider));
    out.result({ provider, closed: false }, "Open, and as new.");
    return 0;
  },
});

interface CostOptions {
  readonly since?: string;
  readonly until?: string;
  readonly tenant?: string;
  readonly provider?: string;
  readonly kind?: string;
  readonly groupBy?: readonly string[];
  readonly limit: number;
}

const costs = defineCommand<CostOptions, []>({
  name: "costs",
  summary: "show what calls cost: of today, or of other days",
  examples: [
    ["fairmill providers costs", "today, by provider"],
    ["fairmill providers costs --since 2026-11-01 --group-by day --group-by tenant", "by day and tenant"],
  ],
  declare: (command) =>
    void command
      .option("--since <day>", "from this day on, in UTC, like 2026-11-01")
      .option("--until <day>", "to this day, included")
      .option("--tenant <name>", "of this tenant", name("--tenant"))
      .option("--provider <name>", "of this provider", name("--provider"))
      .option("--kind <name>", "of this kind", name("--kind"))
      .option("--group-by <what>", `sums by ${COST_GROUPS.join(", ")}; may be repeated`, (one, all: string[] = []) => [
        ...all,
        one,
      ])
      .option("--limit <n>", "how many sums, at most 1000", whole("--limit", 1, 1_000), 50),
  run: async ({ options, out }) => {
    const { since, until, tenant, provider, kind, limit } = options;
    const by = (options.groupBy ?? ["provider"]) as readonly CostGroup[];
    const filter = { by, limit, ...given({ since, until, tenant, provider, kind }) };
    const sums = await withClient(await findTarget(options), (client) => client.providers.costs(filter));
    out.result({ costs: sums }, shownCosts(sums, by, out.columns));
    return 0;
  },
});

export const providers: CommandGroup = {
  name: "providers",
  summary: "show providers and what they cost, or open and close them",
  examples: [
    ["fairmill providers list", "open or closed, calls under way, latency"],
    ["fairmill providers close pixian --for 10m", "no call begins for ten minutes"],
    ["fairmill providers costs --group-by tenant", "what today's calls cost"],
  ],
  verbs: [list, show, close, open, reset, costs],
};

async function found(all: Providers, name: string): Promise<ProviderState> {
  const one = await all.get(name);
  if (one === undefined) throw new ProviderNotFoundError(name);
  return one;
}

function stateOf({ breaker, closed }: ProviderState): string {
  if (closed === null) return "open";
  const why = { breaker: `breaker ${breaker}`, "rate-limit": "its limit", hand: "by hand" }[closed.why];
  const until = closed.until === null ? "" : `, ${relative(closed.until, systemClock.now())}`;
  return `closed (${why}${until})`;
}

function shownCosts(sums: readonly CostSum[], by: readonly CostGroup[], columnsMax: number): string {
  if (sums.length === 0) return "No call cost anything in this time.";
  const groups = COST_GROUPS.filter((group) => by.includes(group));
  const rows = sums.map((sum) => [
    ...groups.map((group) => sum[group] ?? ""),
    String(sum.calls),
    `${sum.cost} ${sum.currency}`,
  ]);
  return tableOf([...groups.map((group) => group.toUpperCase()), "CALLS", "COST"], rows, columnsMax);
}
