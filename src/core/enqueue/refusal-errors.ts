// Why a job was not taken: limits, credits, unique keys.
import { FairmillError } from "../../base/errors.js";
import { rateWords } from "../../base/rate-words.js";

/** Not taken: as many jobs as its limit allows are active, and the definition says to refuse. */
export class ActiveLimitError extends FairmillError {
  override readonly name = "ActiveLimitError";
  /** Whose limit: kind, tenant and key. */
  readonly key: string;
  readonly limit: number;
  /** The jobs that hold the places, ten at most. */
  readonly jobIds: readonly string[];
  constructor(key: string, limit: number, jobIds: readonly string[]) {
    const holders = jobIds.length === 0 ? "jobs of the same call" : `job ${jobIds.join(", ")}`;
    super(
      "FAIRMILL_ACTIVE_LIMIT",
      `Not enqueued: "${key}" may have ${limit} active ${limit === 1 ? "job" : "jobs"}, and ${holders} ${jobIds.length === 1 ? "is" : "are"} active. Enqueue again when one has ended, or define the job with whenActive: "wait".`,
    );
    this.key = key;
    this.limit = limit;
    this.jobIds = jobIds;
  }
}

/** Not taken: a rate that counts at enqueue is used up. */
export class RateLimitError extends FairmillError {
  override readonly name = "RateLimitError";
  readonly scope: "queue" | "kind" | "tenant" | "key";
  /** Which queue, kind, tenant or key. */
  readonly of: string;
  /** When to enqueue again. Undefined: a list is longer than what the rate ever lets in at once; enqueue it in parts. */
  readonly retryAt: Date | undefined;
  constructor(
    scope: RateLimitError["scope"],
    of: string,
    { limit, perMs, how }: { readonly limit: number; readonly perMs: number; readonly how: "window" | "uniform" },
    retryAt: Date | undefined,
  ) {
    const rate = `the ${scope} "${of}" may have ${rateWords(limit, perMs)}`;
    const atOnce = how === "uniform" ? "one by one" : `no more than ${limit} at once`;
    super(
      "FAIRMILL_RATE_LIMIT",
      retryAt === undefined
        ? `Not enqueued: ${rate}, ${atOnce}, and the list has more of them. It will never fit: enqueue it in parts.`
        : `Not enqueued: ${rate}, and they are used up until ${retryAt.toISOString()}. Enqueue again then.`,
    );
    this.scope = scope;
    this.of = of;
    this.retryAt = retryAt;
  }
}

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

/** Another job of this tenant and kind has the unique key, and the definition says `onConflict: "refuse"`. Nothing was stored. */
export class DuplicateJobError extends FairmillError {
  override readonly name = "DuplicateJobError";
  /** The job that is there; undefined when both were in the same call. */
  readonly jobId: string | undefined;
  constructor(kind: string, jobId: string | undefined) {
    super(
      "FAIRMILL_DUPLICATE_JOB",
      jobId === undefined
        ? `Two jobs of kind "${kind}" in one call have the same unique key. Nothing was stored.`
        : `Job ${jobId} of kind "${kind}" has the same unique key. Nothing was stored.`,
    );
    this.jobId = jobId;
  }
}

/** A job was not taken: its batch takes no more. */
export class BatchEndedError extends FairmillError {
  override readonly name = "BatchEndedError";
  readonly batch: string;
  constructor(batch: string) {
    super(
      "FAIRMILL_BATCH_ENDED",
      `Batch ${batch} takes no more jobs: it is over, is being cancelled, has not started, or does not exist. Add to it from one of its jobs, or hold it open meanwhile.`,
    );
    this.batch = batch;
  }
}
