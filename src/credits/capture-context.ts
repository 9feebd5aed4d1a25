// What a run really used of the credits that its job has reserved, said by its handler: captured by the settle of a job that is done, which gives the
// rest back.
import { ConfigError, LeaseLostError } from "../base/errors.js";
import { showValue } from "../base/show-value.js";
import { AMOUNT_MAX } from "../core/job/job-credits.js";
import type { ContextMembers } from "../core/run/context.js";
import type { VerdictDetailWriter } from "../core/settle/verdict-details.js";

export interface CaptureContext {
  /**
   * Says how many of the job's reserved credits this run has used; the rest is given back when the job is done. The last call counts; never more than
   * was reserved is captured. A run that says nothing captures all; one that does not succeed captures nothing.
   */
  capture(amount: number): void;
}

declare module "../core/run/context.js" {
  interface JobContext<Input> extends CaptureContext {}
}

declare module "../core/job/outcome.js" {
  interface VerdictDetails {
    /** What the run used of the credits that its job has reserved. */
    readonly captured?: number;
  }
}

export const captureWriter: VerdictDetailWriter<number> = { text: String, bare: (captured) => captured };

export const captureMembers = (): ContextMembers<keyof CaptureContext> => ({
  capture: (run) => (amount) => {
    if (!Number.isSafeInteger(amount) || amount < 0 || amount > AMOUNT_MAX)
      throw new ConfigError(
        "amount",
        `ctx.capture: ${showValue(amount)} is not a whole number from 0 to ${AMOUNT_MAX}.`,
      );
    if (run.isDecided || run.isCompleted)
      throw new LeaseLostError("The run has ended: what it used must be said by a handler that still runs.");
    run.details = { ...run.details, captured: amount };
  },
});
