// Runs claimed jobs: validates the stored payload, calls the handler under a time limit, and turns what happened into a verdict.
// Knows nothing of the database. A run ends when its handler does; one that ignores its signal is given up after a while, so that
// the job goes on elsewhere, but it keeps its slot: it still uses this process.
import type { Claim } from "../model/claim.js";
import type { Clock } from "../model/clock.js";
import { InputInvalidError, NonRetryableError, TimeoutError } from "../model/errors.js";
import { decide, type Outcome, type Verdict } from "../model/outcome.js";
import { PayloadOutdatedError, validateInput } from "../model/validate-input.js";
import type { Logger } from "../observe/log.js";
import { RunContext } from "./context.js";
import type { Handler } from "./handler.js";

export interface RunnerOptions {
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a handler may go on after its signal aborted before its job is settled without it. */
  readonly abortGraceMs: number;
  readonly onProgress: (claim: Claim, value: unknown) => void;
}

export interface Run {
  readonly claim: Claim;
  readonly startedAtMs: number;
  /** The verdict, as soon as it is known. */
  readonly verdict: Promise<Verdict>;
  /** Resolves when the handler has really ended. */
  readonly over: Promise<void>;
  abort(reason: Error): void;
}

export class Runner {
  readonly #options: RunnerOptions;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  start(claim: Claim): Run {
    const { clock } = this.#options;
    const handler = this.#options.handlers.get(claim.kind);
    let context: RunContext<unknown> | undefined;
    let abortedEarly: Error | undefined;
    let giveUp: ((outcome: Outcome) => void) | undefined;
    const forget: (() => void)[] = [];

    const abort = (reason: Error) => {
      if (!context) abortedEarly ??= reason;
      else if (context.abortedBy === undefined) {
        context.abort(reason);
        forget.push(
          clock.after(this.#options.abortGraceMs, () => giveUp?.({ type: "threw", error: reason, abortedBy: reason })),
        );
      }
    };
    const call = async (): Promise<Outcome> => {
      try {
        if (!handler) throw new NonRetryableError(`This worker has no handler for job kind "${claim.kind}".`);
        const checked = checkPayload(handler, claim.payload);
        context = new RunContext(
          claim,
          checked instanceof Promise ? await checked : checked,
          this.#options.logger,
          this.#options.onProgress,
        );
        if (abortedEarly) context.abort(abortedEarly);
        const { timeoutMs } = handler.definition;
        if (timeoutMs > 0) forget.push(clock.after(timeoutMs, () => abort(new TimeoutError(timeoutMs))));
        return { type: "returned", value: await handler.run(context) };
      } catch (error) {
        return { type: "threw", error, abortedBy: context?.abortedBy ?? abortedEarly };
      }
    };

    const ended = call();
    const outcome = Promise.race([ended, new Promise<Outcome>((resolve) => (giveUp = resolve))]);
    const finish = (result: Outcome): Verdict => {
      for (const drop of forget) drop();
      return decide(claim, result, handler?.definition.backoff ?? (() => 0), clock.random());
    };
    return { claim, startedAtMs: clock.monotonic(), verdict: outcome.then(finish), over: ended.then(() => {}), abort };
  }
}

/** A payload that today's schema refuses gets its own error; anything else a validator throws is an ordinary failure. */
function checkPayload(handler: Handler, payload: unknown): unknown {
  const outdated = (error: unknown): never => {
    throw error instanceof InputInvalidError ? new PayloadOutdatedError(error) : error;
  };
  try {
    const value = validateInput(handler.definition, payload);
    return value instanceof Promise ? value.catch(outdated) : value;
  } catch (error) {
    return outdated(error);
  }
}
