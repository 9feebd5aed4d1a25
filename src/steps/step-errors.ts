// Errors about steps, sleeps and waits.
import { FairmillError } from "../base/errors.js";

/** The steps that a run came to are not those that earlier runs of the job left: its code changed, or its order is left to chance. */
export class StepChangedError extends FairmillError {
  override readonly name = "StepChangedError";
  /** While a deployment rolls, the right code is a matter of minutes: the attempts shall not be over before it is. */
  readonly retryAfterMs = 60_000;
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
