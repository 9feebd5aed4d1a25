// Why a budget did not let a job or a call in, and how the database says so.
import { FairmillError, PutBackError } from "../base/errors.js";
import type { RefusalTable } from "../db/refusals.js";

/** A budget that is spent, as the database tells of it. */
export interface SpentFacts {
  readonly tenant: string;
  readonly per: "day" | "month";
  /** "": of all of them. */
  readonly provider: string;
  readonly kind: string;
  readonly currency: string;
  readonly spent: number;
  readonly hard: number;
  readonly until: string;
}

const nameOf = ({ tenant, per, provider, kind }: SpentFacts): string =>
  `budget of "${tenant}" for this ${per}${provider === "" ? "" : ` at "${provider}"`}${kind === "" ? "" : ` for "${kind}"`}`;

const untilOf = ({ until }: SpentFacts): Date => new Date(until);

/** Not taken: the calls that the job would make have no room in a budget of its tenant. */
export class BudgetExhaustedError extends FairmillError {
  override readonly name = "BudgetExhaustedError";
  readonly tenant: string;
  readonly spent: number;
  readonly hard: number;
  readonly currency: string;
  /** When the next day or month of the budget begins. */
  readonly until: Date;
  constructor(facts: SpentFacts) {
    const until = untilOf(facts);
    super(
      "FAIRMILL_BUDGET_EXHAUSTED",
      `Not enqueued: the ${nameOf(facts)} is spent: ${facts.spent} of ${facts.hard} ${facts.currency}. The next one begins at ${until.toISOString()}; client.budgets.set(…) raises it.`,
    );
    this.tenant = facts.tenant;
    this.spent = facts.spent;
    this.hard = facts.hard;
    this.currency = facts.currency;
    this.until = until;
  }
}

/** A call was not made: a budget has no room for it, nor for any other of its chain. Thrown out of a handler, the job waits for the budget, unspent. */
export class BudgetSpentError extends PutBackError {
  override readonly name = "BudgetSpentError";
  readonly tenant: string;
  readonly until: Date;
  constructor(facts: SpentFacts & { readonly cost: number }, putBackMs: number) {
    const until = untilOf(facts);
    super(
      "FAIRMILL_BUDGET_SPENT",
      `Not called: the ${nameOf(facts)} has no room for ${facts.cost} ${facts.currency}: ${facts.spent} of ${facts.hard} are spent. The job waits until ${until.toISOString()}, or until the budget is raised.`,
      putBackMs,
    );
    this.tenant = facts.tenant;
    this.until = until;
  }
}

export const budgetRefusals: RefusalTable = {
  FAIRMILL_BUDGET_EXHAUSTED: (facts: SpentFacts) => new BudgetExhaustedError(facts),
};
