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

/** A running job was taken from this worker: its lease ended and another worker holds or ended it. */
export class LeaseLostError extends FairmillError {
  override readonly name = "LeaseLostError";
  constructor(message = "The lease on this job was lost: another worker may be running it now. Nothing was written.") {
    super("FAIRMILL_LEASE_LOST", message);
  }
}

/** The job cannot go on before a time, through no fault of its own. Thrown out of a handler, it is run again then, and no attempt is spent. */
export class PutBackError extends FairmillError {
  override readonly name: string = "PutBackError";
  /** How long until it is worth trying again. */
  readonly putBackMs: number;
  constructor(code: string, message: string, putBackMs: number, options?: { cause?: unknown }) {
    super(code, message, options);
    this.putBackMs = putBackMs;
  }
}

/** A run took longer than the job's time limit. */
export class TimeoutError extends FairmillError {
  override readonly name = "TimeoutError";
  constructor(timeoutMs: number) {
    super("FAIRMILL_TIMEOUT", `The run exceeded its time limit of ${timeoutMs} ms.`);
  }
}

/** Why `ctx.signal` aborted when the job was cancelled. */
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

/** No such job, or it was removed by retention. */
export class JobNotFoundError extends FairmillError {
  override readonly name = "JobNotFoundError";
  readonly jobId: string;
  constructor(id: string) {
    super("FAIRMILL_JOB_NOT_FOUND", `There is no job ${id}: the id is wrong, or retention removed the job.`);
    this.jobId = id;
  }
}

/** Only a job that has ended is repeated as a new one: a live one would run beside its repetition. */
export class JobNotEndedError extends FairmillError {
  override readonly name = "JobNotEndedError";
  readonly jobId: string;
  constructor(id: string, state: string) {
    super("FAIRMILL_JOB_NOT_ENDED", `Job ${id} is ${state}: it has not ended. Cancel it first, or wait for its end.`);
    this.jobId = id;
  }
}

/** PostgreSQL refused, or could not be asked: `code` says what it means for the caller. */
export class DatabaseError extends FairmillError {
  override readonly name: string = "DatabaseError";
  /** What PostgreSQL called it, like "40001"; undefined when it did not get to say anything. */
  readonly sqlState: string | undefined;
  constructor(code: string, message: string, options?: { cause?: unknown; sqlState?: string | undefined }) {
    super(code, message, options);
    this.sqlState = options?.sqlState;
  }
}

/** There is no schedule of this name. */
export class ScheduleNotFoundError extends FairmillError {
  override readonly name = "ScheduleNotFoundError";
  readonly schedule: string;
  constructor(schedule: string) {
    super(
      "FAIRMILL_SCHEDULE_NOT_FOUND",
      `There is no schedule "${schedule}". Declare it: client.schedules.set("${schedule}", …).`,
    );
    this.schedule = schedule;
  }
}

/** A schedule was changed since the caller looked at it. */
export class ScheduleChangedError extends FairmillError {
  override readonly name = "ScheduleChangedError";
  readonly schedule: string;
  constructor(schedule: string) {
    super(
      "FAIRMILL_SCHEDULE_CHANGED",
      `The schedule "${schedule}" was changed since you looked at it; nothing was done. Look again, and say what is to change now.`,
    );
    this.schedule = schedule;
  }
}
