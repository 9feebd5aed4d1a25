// Credits as an application sees them: grants, balances and statements, by themselves or inside a transaction of the caller.

import { refuseUnknown } from "../base/settings.js";
import { idempotencyKey } from "../core/enqueue/make-job.js";
import { checkAccount, checkAmount, checkReason } from "../core/job/job-credits.js";
import type { Queryable } from "../db/database.js";
import {
  asQuery,
  type Balance,
  type CreditEntry,
  grantCredits,
  readBalance,
  readStatement,
  type StatementPage,
} from "./credit-statements.js";
import { checkStatementPage } from "./statement-page.js";

export interface GrantOptions {
  /** The same key grants once per account: a repeated call changes nothing. */
  readonly idempotencyKey?: string;
  /** For the statement. */
  readonly reason?: string;
}

/** What a grant came to. */
export interface Granted {
  /** What the account has free now. */
  readonly available: number;
  /** False: the idempotency key was known. */
  readonly granted: boolean;
}

export class Credits {
  readonly #query: ReturnType<typeof asQuery>;

  constructor(tx: Queryable, qualified: (text: string) => string) {
    this.#query = asQuery(tx, qualified);
  }

  grant(account: string, amount: number, options: GrantOptions = {}): Promise<Granted> {
    refuseUnknown(options, ["idempotencyKey", "reason"], "grant");
    return grantCredits(
      this.#query,
      checkAccount(account),
      checkAmount(amount, "amount"),
      options.idempotencyKey === undefined ? undefined : idempotencyKey(options.idempotencyKey),
      options.reason === undefined ? undefined : checkReason(options.reason),
    );
  }

  balance(account: string): Promise<Balance> {
    return readBalance(this.#query, checkAccount(account));
  }

  statement(account: string, page: StatementPage): Promise<CreditEntry[]> {
    return readStatement(this.#query, checkAccount(account), checkStatementPage(page));
  }
}
