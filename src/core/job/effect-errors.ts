// The errors of effects: of what a handler enqueues, and of jobs that are completed in a transaction of their handler.
import { FairmillError } from "../../base/errors.js";

/** A run collects more effects, or larger ones, than it may. Doing it again would not help. */
export class EffectsLimitError extends FairmillError {
  override readonly name = "EffectsLimitError";
  readonly retryable = false;
  constructor(what: string) {
    super(
      "FAIRMILL_EFFECTS_LIMIT",
      `Not taken: ${what}. Let the jobs that are enqueued enqueue the rest, or raise the worker's setting.`,
    );
  }
}

/** The database did not take what the handler asked for, so the job was not settled either. The cause is the database's error. */
export class EffectsFailedError extends FairmillError {
  override readonly name = "EffectsFailedError";
  constructor(cause: unknown) {
    super(
      "FAIRMILL_EFFECTS_FAILED",
      `What the handler asked for could not be written, so the attempt failed: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}

/** The job was completed: nothing more can be said of it in this run. */
export class JobCompletedError extends FairmillError {
  override readonly name = "JobCompletedError";
  constructor(what: string) {
    super("FAIRMILL_COMPLETED", `${what} came after ctx.complete(tx): the job is settled. Call it before.`);
  }
}

/** The handler returned after ctx.complete(tx), and its transaction has not committed. */
export class NotCommittedError extends FairmillError {
  override readonly name = "NotCommittedError";
  constructor() {
    super(
      "FAIRMILL_NOT_COMMITTED",
      "The handler called ctx.complete(tx) and returned, but the transaction has not committed: it was rolled back, or its commit is not awaited. The attempt failed.",
    );
  }
}
