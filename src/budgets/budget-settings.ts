// What a caller says of a budget: which one it is, and what it allows.
import { ConfigError } from "../base/errors.js";
import { nameOf, oneOf, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";

/** Which budget: a tenant has at most one of each. */
export interface BudgetName {
  readonly tenant: string;
  /** A day or a month of the calendar. */
  readonly per: "day" | "month";
  /** Only calls of this provider; default: of all. */
  readonly provider?: string;
  /** Only calls of jobs of this kind; default: of all. */
  readonly kind?: string;
  /** Only costs in this currency; default "USD". */
  readonly currency?: string;
}

export interface BudgetOptions extends BudgetName {
  /** From here on an alert is raised, and calls prefer the cheaper providers of their chains. Default: never. */
  readonly soft?: number;
  /** No call begins that would lead beyond it; jobs that need a provider are refused at enqueue, or wait. Default: never. */
  readonly hard?: number;
  /** Whose calendar it is: "Europe/Zurich"; default "UTC". */
  readonly timeZone?: string;
}

const NAME = ["tenant", "per", "provider", "kind", "currency"] as const;
const AMOUNT_MAX = 1_000_000_000_000;

export function checkBudgetName(name: BudgetName, where: string): Required<BudgetName> {
  refuseUnknown(name, NAME, where);
  return named(name, where);
}

export function checkBudget(options: BudgetOptions, where: string) {
  refuseUnknown(options, [...NAME, "soft", "hard", "timeZone"], where);
  const { soft, hard, timeZone = "UTC" } = options;
  if (soft === undefined && hard === undefined)
    throw new ConfigError("hard", `${where}: give soft, hard or both; budgets.remove takes a budget away.`);
  if (soft !== undefined && !(typeof soft === "number" && soft > 0 && soft <= AMOUNT_MAX))
    throw new ConfigError("soft", `${where}: soft: ${showValue(soft)} is not an amount above 0.`);
  if (hard !== undefined && !(typeof hard === "number" && hard >= 0 && hard <= AMOUNT_MAX))
    throw new ConfigError("hard", `${where}: hard: ${showValue(hard)} is not an amount of 0 or more.`);
  if (soft !== undefined && hard !== undefined && soft > hard)
    throw new ConfigError("soft", `${where}: soft: ${soft} is above hard, which is ${hard}.`);
  return { ...named(options, where), soft, hard, timeZone: nameOf(timeZone, "timeZone") };
}

function named({ tenant, per, provider, kind, currency = "USD" }: BudgetName, where: string): Required<BudgetName> {
  if (typeof currency !== "string" || !/^[A-Z][A-Z0-9]{2,9}$/.test(currency))
    throw new ConfigError("currency", `${where}: currency: ${showValue(currency)} is no code like "USD".`);
  return {
    tenant: nameOf(tenant, "tenant"),
    per: oneOf(per, ["day", "month"], "per", where),
    provider: provider === undefined ? "" : nameOf(provider, "provider"),
    kind: kind === undefined ? "" : nameOf(kind, "kind"),
    currency,
  };
}
