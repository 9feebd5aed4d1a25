// Clocks for tests that must not depend on speed.
import { type Clock, systemClock } from "../../src/base/clock.js";

/**
 * Timers of this length or longer never fire. What a worker does under it, it did not do because it looks around every few seconds:
 * a test that only waits for the deed proves that something else told it, however slow the machine is.
 */
export const withoutTimersOf = (msMin: number): Clock => ({
  ...systemClock,
  after: (ms, then) => (ms >= msMin ? () => {} : systemClock.after(ms, then)),
});

/** A clock that stands still until the test moves it; `timers` are those that have not fired. */
export class ManualClock implements Clock {
  nowMs = 0;
  readonly timers = new Set<{ readonly atMs: number; readonly then: () => void }>();
  now = () => this.nowMs;
  monotonic = () => this.nowMs;
  random = () => 0.5;
  after = (ms: number, then: () => void) => {
    const timer = { atMs: this.nowMs + ms, then };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  };
  move(ms: number): void {
    this.nowMs += ms;
    for (const timer of [...this.timers])
      if (timer.atMs <= this.nowMs) {
        this.timers.delete(timer);
        timer.then();
      }
  }
}
