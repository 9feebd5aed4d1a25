// What shall happen later, unless it is all called off before.
import type { Clock } from "../base/clock.js";

export class Timers {
  readonly #clock: Clock;
  readonly #forget = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  after(ms: number, then: () => void): void {
    const forget = this.#clock.after(ms, () => {
      this.#forget.delete(forget);
      then();
    });
    this.#forget.add(forget);
  }

  stop(): void {
    for (const forget of this.#forget) forget();
    this.#forget.clear();
  }
}
