// Every error that Fairmill throws on purpose: a class with a stable `code`. Messages say what happened, why, and what to do.

/** The base of all of them: `error instanceof FairmillError`, then switch on `error.code`. */
export class FairmillError extends Error {
  override readonly name: string = "FairmillError";
  readonly code: string;
  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** A setting is unknown, malformed or contradicts another one. */
export class ConfigError extends FairmillError {
  override readonly name = "ConfigError";
  readonly setting: string;
  constructor(setting: string, message: string) {
    super("FAIRMILL_CONFIG", message);
    this.setting = setting;
  }
}

/** What a validator found wrong, with the path to the value. */
export interface InputIssue {
  readonly path: string;
  readonly message: string;
}

/** The input does not fit the job's schema, or is not JSON that PostgreSQL can keep. */
export class InputInvalidError extends FairmillError {
  override readonly name = "InputInvalidError";
  readonly issues: readonly InputIssue[];
  constructor(kind: string, issues: readonly InputIssue[]) {
    const list = issues.map((issue) => (issue.path ? `${issue.path}: ${issue.message}` : issue.message)).join("; ");
    super("FAIRMILL_INPUT_INVALID", `The input of job kind "${kind}" is not valid: ${list}.`);
    this.issues = issues;
  }
}

/** The payload is larger or deeper than the queue keeps. */
export class PayloadTooLargeError extends FairmillError {
  override readonly name = "PayloadTooLargeError";
  constructor(kind: string, what: string) {
    super(
      "FAIRMILL_PAYLOAD_TOO_LARGE",
      `The input of job kind "${kind}" is too large: ${what}. Put large data into storage and pass its address.`,
    );
  }
}

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
  /** When one more may come. */
  readonly retryAt: Date;
  constructor(scope: RateLimitError["scope"], of: string, limit: number, perMs: number, retryAt: Date) {
    super(
      "FAIRMILL_RATE_LIMIT",
      `Not enqueued: the ${scope} "${of}" may have ${limit} in ${perMs} ms, and they are used up until ${retryAt.toISOString()}. Enqueue again then.`,
    );
    this.scope = scope;
    this.of = of;
    this.retryAt = retryAt;
  }
}

/** Not taken: the account has not enough credits for what the job holds. */
export class CreditsExhaustedError extends FairmillError {
  override readonly name = "CreditsExhaustedError";
  readonly account: string;
  /** What the job asked for, and what the account had left for it. */
  readonly amount: number;
  readonly available: number;
  constructor(account: string, amount: number, available: number) {
    super(
      "FAIRMILL_CREDITS_EXHAUSTED",
      `Not enqueued: the account "${account}" has ${available} credits left, and the job needs ${amount}. Grant more: client.grant("${account}", …).`,
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

/** A running job was taken from this worker: its lease ended and somebody else holds or ended it. */
export class LeaseLostError extends FairmillError {
  override readonly name = "LeaseLostError";
  constructor(message = "The lease on this job was lost: another worker may be running it now. Nothing was written.") {
    super("FAIRMILL_LEASE_LOST", message);
  }
}

/** A run took longer than the job's time limit. */
export class TimeoutError extends FairmillError {
  override readonly name = "TimeoutError";
  constructor(timeoutMs: number) {
    super("FAIRMILL_TIMEOUT", `The run exceeded its time limit of ${timeoutMs} ms.`);
  }
}

/** Why `ctx.signal` aborted when somebody cancelled the job. */
export class JobCancelledError extends FairmillError {
  override readonly name = "JobCancelledError";
  constructor() {
    super("FAIRMILL_CANCELLED", "The job was cancelled while it ran.");
  }
}

/** Why `ctx.signal` aborted when the worker was asked to stop and the grace period ran out. */
export class ShutdownError extends FairmillError {
  override readonly name = "ShutdownError";
  constructor() {
    super("FAIRMILL_SHUTDOWN", "The worker is stopping; the job is released and will run again elsewhere.");
  }
}

/** Throw this from a handler when trying again cannot help: the job ends at once. */
export class NonRetryableError extends FairmillError {
  override readonly name = "NonRetryableError";
  constructor(message: string, options?: { cause?: unknown }) {
    super("FAIRMILL_NON_RETRYABLE", message, options);
  }
}

/**
 * Throw this from a channel's `send` when the receiver certainly did not take the message: it refused, or was never reached. Whatever else
 * `send` throws leaves that in doubt.
 */
export class NotDeliveredError extends FairmillError {
  override readonly name = "NotDeliveredError";
  /** How channels know it, also of another copy of this package. */
  readonly delivered = false;
  /** False: trying again cannot help, and the message has failed. */
  readonly retryable: boolean;
  constructor(message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super("FAIRMILL_NOT_DELIVERED", message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryable = options.retryable ?? true;
  }
}

/** A message may have arrived or not, and its channel says to hold it: somebody must find out, and say so by `resolveDelivery`. */
export class DeliveryUnknownError extends FairmillError {
  override readonly name = "DeliveryUnknownError";
  /** Never by itself. */
  readonly retryable = false;
  constructor(what: string, options?: { cause?: unknown }) {
    super(
      "FAIRMILL_DELIVERY_UNKNOWN",
      `Whether the message arrived is not known: ${what}. It is not sent again until somebody says what became of it: client.resolveDelivery(id, "sent" | "failed" | "resend").`,
      options,
    );
  }
}

/** There is no such message in the outbox. */
export class MessageNotFoundError extends FairmillError {
  override readonly name = "MessageNotFoundError";
  constructor(id: string) {
    super("FAIRMILL_MESSAGE_NOT_FOUND", `There is no message ${id}: the id is wrong, or retention removed it.`);
  }
}

/** A job that delivers a message is not run again with other input: its key belongs to what was published. */
export class DeliveryJobError extends FairmillError {
  override readonly name = "DeliveryJobError";
  constructor(id: string) {
    super(
      "FAIRMILL_DELIVERY_JOB",
      `Job ${id} delivers a message: it is not rerun. Publish another message with a key of its own, or retry the job.`,
    );
  }
}

/** A value is sealed and nothing here opens it: no codec is set, or a later version of this package sealed it. */
export class SealedError extends FairmillError {
  override readonly name = "SealedError";
  /** The key that it names, if it can be read. */
  readonly keyId: string | undefined;
  constructor(what: string, keyId: string | undefined, version?: number) {
    super(
      "FAIRMILL_SEALED",
      version === undefined
        ? `The ${what} is sealed${keyId === undefined ? "" : ` with key "${keyId}"`}, and no codec is set here. Set codec as it is where the job was enqueued.`
        : `The ${what} is sealed in form ${version}, which this version of the package does not know. Update it here.`,
    );
    this.keyId = keyId;
  }
}

/** A value is sealed with a key that the codec does not have. */
export class KeyUnknownError extends FairmillError {
  override readonly name = "KeyUnknownError";
  readonly keyId: string;
  constructor(what: string, keyId: string) {
    super(
      "FAIRMILL_KEY_UNKNOWN",
      `The ${what} is sealed with key "${keyId}", which the codec here does not have. Add it to keys: it is new, or it was removed too early.`,
    );
    this.keyId = keyId;
  }
}

/** A sealed value was changed, was taken from another job's place, or the key of this name is another one. */
export class SealBrokenError extends FairmillError {
  override readonly name = "SealBrokenError";
  readonly keyId: string | undefined;
  constructor(what: string, keyId: string | undefined) {
    super(
      "FAIRMILL_SEAL_BROKEN",
      `The ${what} cannot be opened${keyId === undefined ? "" : ` with key "${keyId}"`}: it was changed, it belongs to another kind or tenant, or the key of this name is not the one that sealed it.`,
    );
    this.keyId = keyId;
  }
}

/** A value is not sealed, and the codec was told to accept nothing else. */
export class NotSealedError extends FairmillError {
  override readonly name = "NotSealedError";
  constructor(what: string) {
    super(
      "FAIRMILL_NOT_SEALED",
      `The ${what} is not sealed, and the codec has acceptPlain: false. Whoever stored it has no codec set.`,
    );
  }
}

/** The steps that a run came to are not those that earlier runs of the job left: its code changed, or its order is left to chance. */
export class StepChangedError extends FairmillError {
  override readonly name = "StepChangedError";
  readonly step: string;
  constructor(step: string, what: string) {
    super(
      "FAIRMILL_STEP_CHANGED",
      `Step "${step}": ${what}. The job's code changed under it, or the order of its steps is left to chance; nothing of this step was done.`,
    );
    this.step = step;
  }
}

/** What a step returned cannot be kept: it is no JSON, or too large. Doing it again would not help. */
export class StepResultError extends FairmillError {
  override readonly name = "StepResultError";
  readonly retryable = false;
  readonly step: string;
  constructor(step: string, problem: string) {
    super(
      "FAIRMILL_STEP_RESULT",
      `The value of step "${step}" cannot be kept: ${problem}. Put large data into storage and return its address.`,
    );
    this.step = step;
  }
}

/** A job has more steps, or larger ones, than it may. */
export class StepLimitError extends FairmillError {
  override readonly name = "StepLimitError";
  readonly retryable = false;
  readonly step: string;
  constructor(step: string, what: string) {
    super("FAIRMILL_STEP_LIMIT", `Step "${step}" is not kept: ${what}. Split the job, or raise the worker's setting.`);
    this.step = step;
  }
}

/** `ctx.waitFor` ended by its time: no signal came. It does so again in every later run of the job. */
export class WaitTimeoutError extends FairmillError {
  override readonly name = "WaitTimeoutError";
  readonly retryable = false;
  readonly step: string;
  constructor(step: string) {
    super("FAIRMILL_WAIT_TIMEOUT", `No signal "${step}" came in time.`);
    this.step = step;
  }
}

/** Ends a run that came to `ctx.sleep` or `ctx.waitFor`. Let it pass: the job goes on later, whatever the handler makes of it. */
export class JobPausedError extends FairmillError {
  override readonly name = "JobPausedError";
  constructor() {
    super("FAIRMILL_PAUSED", "The job sleeps or waits: this run ends here, and a later one goes on behind this line.");
  }
}

/** No such job, or it was removed by retention. */
export class JobNotFoundError extends FairmillError {
  override readonly name = "JobNotFoundError";
  constructor(id: string) {
    super("FAIRMILL_JOB_NOT_FOUND", `There is no job ${id}: the id is wrong, or retention removed the job.`);
  }
}

/** Only a job that has ended is repeated as a new one: a live one would run beside its repetition. */
export class JobNotEndedError extends FairmillError {
  override readonly name = "JobNotEndedError";
  constructor(id: string, state: string) {
    super("FAIRMILL_JOB_NOT_ENDED", `Job ${id} is ${state}: it has not ended. Cancel it first, or wait for its end.`);
  }
}

/** The database could not be reached, or the connection broke in a place where repeating was not safe. */
export class DatabaseError extends FairmillError {
  override readonly name: string = "DatabaseError";
}
