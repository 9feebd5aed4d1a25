import { expect, test } from "vitest";
import { type Clock, sleep, systemClock } from "../../src/model/clock.js";

/** A clock that only remembers what it was asked to do. */
function recordingClock() {
  const timers = new Map<() => void, number>();
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    random: () => 0,
    after: (ms, then) => {
      timers.set(then, ms);
      return () => timers.delete(then);
    },
  };
  return { clock, timers };
}

test("sleep ends when its time is over, and leaves no listener on the signal", async () => {
  const { clock, timers } = recordingClock();
  const controller = new AbortController();
  const slept = sleep(clock, 500, controller.signal);
  const [[wake, ms]] = [...timers] as [[() => void, number]];
  expect(ms).toBe(500);
  wake();
  await slept;
  controller.abort();
  expect(timers.size).toBe(0);
});

test("sleep ends at once when its signal aborts, and forgets its timer", async () => {
  const { clock, timers } = recordingClock();
  const controller = new AbortController();
  const slept = sleep(clock, 500, controller.signal);
  controller.abort();
  await slept;
  expect(timers.size).toBe(0);
});

test("sleep does not even begin under a signal that has aborted", async () => {
  const { clock, timers } = recordingClock();
  await sleep(clock, 500, AbortSignal.abort());
  expect(timers.size).toBe(0);
});

test("a timer longer than the platform's longest waits instead of firing at once", async () => {
  let fired = false;
  const forget = systemClock.after(10 ** 12, () => (fired = true));
  await new Promise<void>((resolve) => systemClock.after(20, resolve) && setTimeout(resolve, 1_000));
  forget();
  expect(fired).toBe(false);
});

test("the machine's clock never runs backwards, and its dice stay below one", () => {
  let last = systemClock.monotonic();
  for (let i = 0; i < 1_000; i++) {
    const now = systemClock.monotonic();
    expect(now).toBeGreaterThanOrEqual(last);
    last = now;
    expect(systemClock.random()).toBeLessThan(1);
  }
});
