// `client.budgets`: what the calls of tenants may cost in a day or a month, and what they did.
import { limitOf } from "../base/page.js";
import { nameOf, refuseUnknown } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { type BudgetName, type BudgetOptions, checkBudget, checkBudgetName } from "./budget-settings.js";
import { BUDGETS_MAX, type Budget, readBudgets, removeBudget, setBudget } from "./budget-statements.js";

export interface BudgetFilter {
  readonly tenant?: string;
  /** At most this many; default 100, at most 1000. */
  readonly limit?: number;
}

export class Budgets {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** Sets a budget, or changes it; what is left out of soft and hard is taken away. Raising it wakes the jobs that it kept. */
  set(options: BudgetOptions): Promise<void> {
    return this.#context.call(async () => setBudget(this.#context, checkBudget(options, "budgets.set")));
  }

  /** Undefined: there is none. */
  get(name: BudgetName): Promise<Budget | undefined> {
    return this.#context.call(async () => {
      const { tenant, per, provider, kind, currency } = checkBudgetName(name, "budgets.get");
      const all = await readBudgets(this.#context, tenant, undefined, BUDGETS_MAX);
      return all.find(
        (one) =>
          one.per === per &&
          (one.provider ?? "") === provider &&
          (one.kind ?? "") === kind &&
          one.currency === currency,
      );
    });
  }

  /** All of them, or those of a tenant, by tenant. */
  list(filter: BudgetFilter = {}): Promise<Budget[]> {
    return this.#context.call(async () => {
      refuseUnknown(filter, ["tenant", "limit"], "budgets.list");
      const tenant = filter.tenant === undefined ? undefined : nameOf(filter.tenant, "tenant");
      const limit = filter.limit === undefined ? 100 : limitOf(filter.limit, BUDGETS_MAX);
      return readBudgets(this.#context, tenant, undefined, limit);
    });
  }

  /** False: there was none. What was spent stays on record. */
  remove(name: BudgetName): Promise<boolean> {
    return this.#context.call(async () => removeBudget(this.#context, checkBudgetName(name, "budgets.remove")));
  }
}
