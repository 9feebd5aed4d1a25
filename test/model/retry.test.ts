// Pauses between tries: longer and longer, bounded, spread, and short again after a success.
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { RetryPause } from "../../src/base/retry.js";

const pauses = (random: number) =>
  new RetryPause({ ...systemClock, random: () => random }, { firstMs: 100, maxMs: 1_000 });
const take = (pause: RetryPause, count: number) => Array.from({ length: count }, () => pause.failed());

test("doubles with every failure in a row, up to its bound", () => {
  expect(take(pauses(0.5), 6)).toEqual([100, 200, 400, 800, 1_000, 1_000]);
});

test("is spread by half to either side", () => {
  expect(take(pauses(0), 2)).toEqual([50, 100]);
  expect(take(pauses(0.999), 1)[0]).toBeCloseTo(149.9);
});

test("begins anew after a success, and is as long as it gets where only time helps", () => {
  const pause = pauses(0.5);
  take(pause, 3);
  pause.succeeded();
  expect(pause.failed()).toBe(100);
  pause.giveItTime();
  expect(pause.failed()).toBe(1_000);
});

test("an abort ends the wait", async () => {
  const stop = new AbortController();
  const waiting = new RetryPause(systemClock, { firstMs: 3_600_000, maxMs: 3_600_000 }).wait(stop.signal);
  stop.abort();
  await waiting;
});
