// Why a result is not to be had: the errors of a caller that waits for one, and of a handler that returned one that does not fit.
import type { ErrorRecord } from "../../base/error-record.js";
import { FairmillError, type InputIssue } from "../../base/errors.js";

/** The job is dead: there is no result. */
export class JobFailedError extends FairmillError {
  override readonly name = "JobFailedError";
  readonly jobId: string;
  /** The error that ended it, as it is kept. */
  readonly error: ErrorRecord | null;
  constructor(jobId: string, error: ErrorRecord | null) {
    super("FAIRMILL_JOB_FAILED", `Job ${jobId} ended as dead${error ? `: ${error.message}` : "."}`);
    this.jobId = jobId;
    this.error = error;
  }
}

/** The job was cancelled: there is no result. */
export class ResultCancelledError extends FairmillError {
  override readonly name = "ResultCancelledError";
  readonly jobId: string;
  /** The reason, where one was given. */
  readonly error: ErrorRecord | null;
  constructor(jobId: string, error: ErrorRecord | null) {
    super("FAIRMILL_RESULT_CANCELLED", `Job ${jobId} ended as cancelled${error ? `: ${error.message}` : "."}`);
    this.jobId = jobId;
    this.error = error;
  }
}

/** The job has not ended in the time that was given. It goes on. */
export class ResultTimeoutError extends FairmillError {
  override readonly name = "ResultTimeoutError";
  readonly jobId: string;
  /** What it was when the waiting ended. */
  readonly state: string;
  constructor(jobId: string, state: string) {
    super("FAIRMILL_RESULT_TIMEOUT", `Job ${jobId} is still ${state}; it goes on, only the waiting ended.`);
    this.jobId = jobId;
    this.state = state;
  }
}

/** A handler returned what the definition's `output` does not accept: the attempt has failed. */
export class ResultInvalidError extends FairmillError {
  override readonly name = "ResultInvalidError";
  readonly issues: readonly InputIssue[];
  constructor(kind: string, issues: readonly InputIssue[]) {
    const list = issues.map((issue) => (issue.path ? `${issue.path}: ${issue.message}` : issue.message)).join("; ");
    super("FAIRMILL_RESULT_INVALID", `The result of job kind "${kind}" does not fit its output schema: ${list}.`);
    this.issues = issues;
  }
}
