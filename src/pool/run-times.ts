// How long jobs run, on average of late.
import type { Clock } from "../base/clock.js";

/** What a new run counts. */
const SHARE = 0.05;

export class RunTimes {
  readonly #clock: Clock;
  #meanMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ended(durationMs: number): void {
    this.#meanMs = this.#meanMs === undefined ? durationMs : this.#meanMs + (durationMs - this.#meanMs) * SHARE;
  }

  /** Runs that last tell of themselves before they end, once that is longer than a job may wait. Undefined: nothing is known yet. */
  meanMs(running: readonly { readonly sentAtMs: number | undefined }[], longMs: number): number | undefined {
    const nowMs = this.#clock.monotonic();
    const lasting = running.map(({ sentAtMs = nowMs }) => nowMs - sentAtMs);
    const soFarMs = lasting.reduce((sum, ms) => sum + ms, 0) / Math.max(1, lasting.length);
    return soFarMs > longMs ? Math.max(soFarMs, this.#meanMs ?? 0) : this.#meanMs;
  }
}
