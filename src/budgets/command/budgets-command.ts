// `fairmill budgets`: what the calls of tenants may cost in a day or a month, and what is spent of it.
import type { Command } from "commander";
import { systemClock } from "../../base/clock.js";
import { given, name, whole } from "../../cli/arguments.js";
import { type CommandGroup, defineCommand } from "../../cli/command.js";
import { UsageError } from "../../cli/failure.js";
import { tableOf } from "../../cli/table.js";
import { findTarget, withClient } from "../../cli/target.js";
import { oneLine } from "../../cli/text.js";
import { relative } from "../../cli/times.js";
import type { BudgetName } from "../budget-settings.js";
import type { Budget } from "../budget-statements.js";

interface Which {
  readonly per?: Budget["per"];
  readonly provider?: string;
  readonly kind?: string;
  readonly currency?: string;
}

type Amount = number | "none";

interface Setting extends Which {
  readonly soft?: Amount;
  readonly hard?: Amount;
  readonly timeZone?: string;
}

const period = (text: string): Budget["per"] => {
  if (text === "day" || text === "month") return text;
  throw new UsageError("--per: write day or month.");
};

const amount =
  (option: string) =>
  (text: string): Amount => {
    if (text === "none") return text;
    if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
    throw new UsageError(`${option}: ${JSON.stringify(text)} is not an amount. Write it like 12.50, or "none".`);
  };

const declareWhich = (command: Command) =>
  command
    .argument("<tenant>", "whose calls", name("tenant"))
    .option("--per <period>", "of a day or a month of the calendar: day, month", period)
    .option("--provider <provider>", "only calls of this provider", name("--provider"))
    .option("--kind <kind>", "only calls of jobs of this kind", name("--kind"))
    .option("--currency <code>", "only costs in this currency; USD unless given", name("--currency"));

function nameOfBudget(tenant: string, { per, provider, kind, currency }: Which): BudgetName {
  if (per === undefined) throw new UsageError("For a day or a month? Write --per month.");
  return { tenant, per, ...given({ provider, kind, currency }) };
}

const shownScope = ({ provider, kind }: { provider?: string | null; kind?: string | null }) =>
  [provider && `provider ${oneLine(provider)}`, kind && `kind ${oneLine(kind)}`].filter(Boolean).join(", ") ||
  "all calls";
const shownName = (one: BudgetName) => `${oneLine(one.tenant)} per ${one.per}, ${shownScope(one)}`;
const noSuch = (one: BudgetName) => `There is no budget of ${shownName(one)}. See them: fairmill budgets`;
const STATES = { within: "within", soft: "above soft", spent: "spent" } as const;

const list = defineCommand<{ readonly tenant?: string; readonly limit: number }, []>({
  name: "list",
  summary: "show budgets with what is spent of them",
  examples: [["fairmill budgets list --tenant acme", "those of acme"]],
  declare: (command) =>
    void command
      .option("--tenant <tenant>", "of this tenant", name("--tenant"))
      .option("--limit <n>", "how many, at most 1000", whole("--limit", 1, 1_000), 100),
  run: async ({ options: { tenant, limit, ...options }, out }) => {
    const filter = { limit, ...given({ tenant }) };
    const budgets = await withClient(await findTarget(options), (client) => client.budgets.list(filter));
    const none = "There is no budget. Set one: fairmill budgets set acme --per month --hard 50";
    out.result({ budgets }, budgets.length === 0 ? none : tableOfBudgets(budgets, out.columns));
    return 0;
  },
});

const get = defineCommand<Which, [tenant: string]>({
  name: "get",
  summary: "show one budget",
  examples: [["fairmill budgets get acme --per month", "what is spent of it"]],
  declare: (command) => void declareWhich(command),
  run: async ({ args: [tenant], options, out }) => {
    const name = nameOfBudget(tenant, options);
    const budget = await withClient(await findTarget(options), ({ budgets }) => budgets.get(name));
    if (budget) out.result({ budget }, tableOfBudgets([budget], out.columns));
    else out.refusal({ budget: null }, noSuch(name));
    return budget ? 0 : 1;
  },
});

const set = defineCommand<Setting, [tenant: string]>({
  name: "set",
  summary: "set a budget, or change it: what is not named stays",
  description: "Raising a budget that is spent lets its waiting jobs go on at once.",
  examples: [
    ["fairmill budgets set acme --per month --soft 40 --hard 50", "cheaper providers from 40 on, nothing beyond 50"],
    ["fairmill budgets set acme --per month --hard 80", "more for this month and the next ones"],
    ["fairmill budgets set acme --per month --soft none", "no soft threshold any more"],
  ],
  declare: (command) =>
    void declareWhich(command)
      .option("--soft <amount>", 'an alert, and cheaper providers first; or "none"', amount("--soft"))
      .option("--hard <amount>", 'no call begins beyond it; or "none"', amount("--hard"))
      .option("--time-zone <zone>", "whose calendar it is, like Europe/Zurich; UTC unless given", name("--time-zone")),
  run: async ({ args: [tenant], options, out }) => {
    const budget = nameOfBudget(tenant, options);
    const { soft, hard, timeZone } = options;
    if (soft === undefined && hard === undefined && timeZone === undefined)
      throw new UsageError("What may it cost? Write --hard 50, --soft 40, or both.");
    const now = await withClient(await findTarget(options), async ({ budgets }) => {
      const before = await budgets.get(budget);
      const kept = (wanted: Amount | undefined, had: number | null | undefined) =>
        wanted === "none" ? undefined : (wanted ?? had ?? undefined);
      const amounts = given({ soft: kept(soft, before?.soft), hard: kept(hard, before?.hard) });
      if (amounts.soft === undefined && amounts.hard === undefined)
        throw new UsageError(
          before
            ? `Nothing of it would be left. To take it away: fairmill budgets remove ${oneLine(tenant)} --per ${budget.per}`
            : `There is no budget of ${shownName(budget)} yet. Write --hard 50, --soft 40, or both.`,
        );
      await budgets.set({ ...budget, ...amounts, ...given({ timeZone: timeZone ?? before?.timeZone }) });
      return budgets.get(budget);
    });
    out.result({ budget: now ?? null }, now ? tableOfBudgets([now], out.columns) : "It was taken away meanwhile.");
    return 0;
  },
});

const remove = defineCommand<Which, [tenant: string]>({
  name: "remove",
  summary: "take a budget away; what was spent stays on record",
  examples: [["fairmill budgets remove acme --per month", "calls of acme cost what they cost"]],
  declare: (command) => void declareWhich(command),
  run: async ({ args: [tenant], options, out }) => {
    const budget = nameOfBudget(tenant, options);
    const removed = await withClient(await findTarget(options), ({ budgets }) => budgets.remove(budget));
    if (!removed) out.refusal({ ...budget, removed }, noSuch(budget));
    else out.result({ ...budget, removed }, `The budget of ${shownName(budget)} is gone.`);
    return removed ? 0 : 1;
  },
});

function tableOfBudgets(budgets: readonly Budget[], columnsMax: number): string {
  const nowMs = systemClock.now();
  const rows = budgets.map((one) => [
    oneLine(one.tenant),
    one.per,
    shownScope(one),
    `${one.spent} ${one.currency}`,
    String(one.soft ?? "–"),
    String(one.hard ?? "–"),
    STATES[one.state],
    relative(one.periodUntil, nowMs),
  ]);
  return tableOf(["TENANT", "PER", "OF", "SPENT", "SOFT", "HARD", "STATE", "BEGINS AGAIN"], rows, columnsMax);
}

export const budgets: CommandGroup = {
  name: "budgets",
  summary: "what the calls of tenants may cost, and what is spent of it",
  examples: [
    ["fairmill budgets", "all of them"],
    ["fairmill budgets set acme --per month --hard 80", "raise one: waiting jobs go on"],
  ],
  usual: "list",
  verbs: [list, get, set, remove],
};
