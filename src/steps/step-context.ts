// Steps in the context of handlers.
import type { Clock } from "../base/clock.js";
import type { Duration } from "../base/duration.js";
import type { Jsonify } from "../base/jsonify.js";
import type { ContextMembers, RunControl } from "../core/run/context.js";
import type { Run } from "../core/run/run.js";
import { rejected } from "../core/run/run-effects.js";
import { Steps, type WaitOptions } from "./run-steps.js";
import type { StepKeeper } from "./step.js";
import { JobPausedError } from "./step-errors.js";
import type { MustYield } from "./steps-of-run.js";

/** What the steps of all runs of a worker share. */
export interface StepTools {
  readonly keeper: StepKeeper;
  readonly clock: Clock;
  /** Whether a run that has done so many steps itself ends before its next new one, and goes on in another run. */
  readonly mustYield?: MustYield | undefined;
}

export interface StepContext {
  /**
   * Does something once: what `run` returns is kept before this resolves, and later runs of the job get it without calling `run`. Give
   * every step of the job a name of its own. What comes back went through JSON, in the first run as in later ones: a Date is a text.
   */
  step<T>(name: string, run: () => T | Promise<T>): Promise<Jsonify<T>>;
  /** Ends this run; another one goes on behind this line after the time. */
  sleep(name: string, duration: Duration): Promise<void>;
  /** Ends this run until `client.signal(id, name, value)`, before or after; resolves with the value. After `timeout`: WaitTimeoutError. */
  waitFor<T = unknown>(name: string, options?: WaitOptions): Promise<Jsonify<T>>;
}

declare module "../core/run/context.js" {
  interface JobContext<Input> extends StepContext {}
}

export function stepMembers(control: RunControl, tools: StepTools): ContextMembers<keyof StepContext> {
  const stepsOf = (run: Run) =>
    run.attached(
      Steps,
      () =>
        new Steps({
          ...tools,
          claim: run.claim,
          abortedBy: () => run.abortedBy,
          isOver: () => run.isDecided,
          onLost: (reason) => control.abort(run, reason),
          onPaused: (delayMs, waits) => control.pause(run, { delayMs, waits }, new JobPausedError()),
          onYielded: () => control.yield(run, new JobPausedError()),
          onKept: (what, value) => control.onKept(run.claim, what, value),
        }),
    );
  /** A job that is completed has no more steps. */
  const inSteps = <T>(run: Run, what: string, call: (steps: Steps) => Promise<T>): Promise<T> => {
    const refusal = run.asked?.refusal(what);
    return refusal === undefined ? call(stepsOf(run)) : rejected(refusal);
  };
  return {
    step: (run) => (name, work) => inSteps(run, "ctx.step", (steps) => steps.step(name, work)),
    sleep: (run) => (name, duration) => inSteps(run, "ctx.sleep", (steps) => steps.sleep(name, duration)),
    waitFor: (run) => (name, options) => inSteps(run, "ctx.waitFor", (steps) => steps.waitFor(name, options)),
  };
}
