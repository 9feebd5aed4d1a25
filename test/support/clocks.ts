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
