// The pause before what failed is tried again: twice as long with every failure in a row, up to a bound, and spread by half to either side so that
// many who fail together do not come back together. A success begins anew.
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

  /** It failed: so long it should be left alone. */
  failed(): number {
    const ms = this.#plainMs * (0.5 + this.#clock.random());
    this.#plainMs = Math.min(this.#options.maxMs, this.#plainMs * 2);
    return ms;
  }

  succeeded(): void {
    this.#plainMs = this.#options.firstMs;
  }

  /** The next pauses are as long as they get: this will not pass in a moment. */
  giveItTime(): void {
    this.#plainMs = this.#options.maxMs;
  }

  /** It failed: waits until it should be tried again, or until the signal aborts. */
  wait(signal?: AbortSignal): Promise<void> {
    return sleep(this.#clock, this.failed(), signal);
  }
}
