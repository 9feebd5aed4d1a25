// Retries with jitter. The pause before another try is twice as long with every failure in a row, up to a bound, and spread by half to either side, so
// that processes which fail together do not come back together. A success begins again with the first pause.
import { type Clock, sleep } from "./clock.js";

export interface RetryPauseOptions {
  readonly firstMs: number;
  readonly maxMs: number;
}

export class RetryPause {
  readonly #clock: Clock;
  readonly #options: RetryPauseOptions;
  #plainMs: number;

  constructor(clock: Clock, options: RetryPauseOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#plainMs = options.firstMs;
  }

  /** A try failed: the milliseconds before the next one. */
  failed(): number {
    const ms = this.#plainMs * (0.5 + this.#clock.random());
    this.#plainMs = Math.min(this.#options.maxMs, this.#plainMs * 2);
    return ms;
  }

  succeeded(): void {
    this.#plainMs = this.#options.firstMs;
  }

  /** The next pauses are as long as they get: this will not pass soon. */
  giveItTime(): void {
    this.#plainMs = this.#options.maxMs;
  }

  /** A try failed: waits until the next one, or until the signal aborts. */
  wait(signal?: AbortSignal): Promise<void> {
    return sleep(this.#clock, this.failed(), signal);
  }
}

export interface RetryOptions {
  readonly clock: Clock;
  readonly pauses: RetryPauseOptions;
  /** Whether this failure, of the n-th try, may be followed by another try. */
  readonly mayRepeat: (error: unknown, tries: number) => boolean;
  /** Told of every failure that is followed by another try. */
  readonly onTrouble?: (error: unknown) => void;
  /** Ends the waiting: the last failure is then thrown. */
  readonly signal?: AbortSignal;
}

/** Tries until it works, or throws the failure after which there is no other try. */
export async function retrying<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  let pause: RetryPause | undefined;
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!options.mayRepeat(error, tries)) throw error;
      options.onTrouble?.(error);
      pause ??= new RetryPause(options.clock, options.pauses);
      await pause.wait(options.signal);
      if (options.signal?.aborted) throw error;
    }
  }
}
