// `client.credits`: what accounts are given, what they have, and what moved.

import { checkJobId } from "../base/job-id.js";
import { refuseUnknown } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { idempotencyKey } from "../core/enqueue/make-job.js";
import { checkAccount, checkAmount, checkReason } from "../core/job/job-credits.js";
import { RefundError } from "./credit-errors.js";
import {
  type Balance,
  type CreditEntry,
  grantCredits,
  type Refunded,
  readBalance,
  readStatement,
  refundCredits,
  type StatementPage,
} from "./credit-statements.js";
import { checkStatementPage } from "./statement-page.js";

export interface GrantOptions {
  /** The same key grants once per account: a repeated call changes nothing. */
  readonly idempotencyKey?: string;
  /** For the statement. */
  readonly reason?: string;
}

export interface RefundOptions {
  /** Default: all that was captured. */
  readonly amount?: number;
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
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** Gives credits to an account, which is made if it does not exist. */
  grant(account: string, amount: number, options: GrantOptions = {}): Promise<Granted> {
    return this.#context.call(async () => {
      refuseUnknown(options, ["idempotencyKey", "reason"], "credits.grant");
      return grantCredits(
        this.#context,
        checkAccount(account),
        checkAmount(amount, "amount"),
        options.idempotencyKey === undefined ? undefined : idempotencyKey(options.idempotencyKey),
        options.reason === undefined ? undefined : checkReason(options.reason),
      );
    });
  }

  /**
   * Gives back what a job that is done has captured, or a part of it: an entry of its own, once for each job. A repeated call changes nothing and
   * answers with what was given back.
   */
  refund(jobId: string, options: RefundOptions = {}): Promise<Refunded> {
    return this.#context.call(async () => {
      refuseUnknown(options, ["amount", "reason"], "credits.refund");
      const { amount, reason } = options;
      const answer = await refundCredits(
        this.#context,
        checkJobId(jobId),
        amount === undefined ? undefined : checkAmount(amount, "amount"),
        reason === undefined ? undefined : checkReason(reason),
      );
      if (typeof answer === "string") throw new RefundError(jobId, answer);
      return answer;
    });
  }

  /** What an account has free, and what jobs have reserved. */
  balance(account: string): Promise<Balance> {
    return this.#context.call(async () => readBalance(this.#context, checkAccount(account)));
  }

  /** The movements of an account, newest first. */
  statement(account: string, page: StatementPage = {}): Promise<CreditEntry[]> {
    return this.#context.call(async () =>
      readStatement(this.#context, checkAccount(account), checkStatementPage(page)),
    );
  }
}
