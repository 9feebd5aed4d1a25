// Why an account did not pay for a job, and how the database says so.
import { FairmillError } from "../base/errors.js";
import type { RefusalTable } from "../db/refusals.js";

/** Not taken: the account has not enough credits for what the job reserves. */
export class CreditsExhaustedError extends FairmillError {
  override readonly name = "CreditsExhaustedError";
  readonly account: string;
  /** What the job asked for, and what the account had left for it. */
  readonly amount: number;
  readonly available: number;
  constructor(account: string, amount: number, available: number) {
    super(
      "FAIRMILL_CREDITS_EXHAUSTED",
      `Not enqueued: the account "${account}" has ${available} credits left, and the job needs ${amount}. Grant more: client.credits.grant("${account}", …).`,
    );
    this.account = account;
    this.amount = amount;
    this.available = available;
  }
}

const WHY_NOT = {
  not_found: "no ended job has this id. Refund a job that is done, while its history is kept",
  not_captured: "nothing was captured for it: it reserved no credits, did not succeed, or used none of them",
  too_much: "that is more than was captured. Name less, or no amount: then all of it is given back",
} as const;

/** Nothing was given back: the job captured nothing, or less than that. */
export class RefundError extends FairmillError {
  override readonly name = "RefundError";
  readonly jobId: string;
  readonly why: keyof typeof WHY_NOT;
  constructor(jobId: string, why: keyof typeof WHY_NOT) {
    super("FAIRMILL_REFUND", `Job ${jobId} was not refunded: ${WHY_NOT[why]}.`);
    this.jobId = jobId;
    this.why = why;
  }
}

interface Facts {
  readonly account: string;
  readonly amount: number;
  readonly balance: number;
}

export const creditRefusals: RefusalTable = {
  FAIRMILL_CREDITS_EXHAUSTED: ({ account, amount, balance }: Facts) =>
    new CreditsExhaustedError(account, amount, balance),
};
