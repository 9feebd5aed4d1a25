// A limit replayed on runs that happened.
import { expect, test } from "vitest";
import { type PastRun, type ReplayedLimit, replay } from "../../src/limits/replay.js";

const UNTIL = 3_600_000;
const runs = (count: number, everyMs: number, lengthMs: number): PastRun[] =>
  Array.from({ length: count }, (_, n) => ({ startMs: n * everyMs, endMs: n * everyMs + lengthMs }));
const tried = (past: readonly PastRun[], limit: Partial<ReplayedLimit>) =>
  replay(past, { maxRunning: undefined, rate: undefined, ...limit }, UNTIL);

test("without a limit nothing is later, and the most at once is what there was", () => {
  expect(tried(runs(10, 1_000, 2_500), {})).toEqual({
    ...{ starts: 10, delayed: 0, delayMeanMs: 0, delayMaxMs: 0, notStarted: 0, mostAtOnce: 3 },
  });
});

test("a cap: runs wait for the end of one before them, in their order", () => {
  const { delayed, delayMaxMs, mostAtOnce } = tried(runs(4, 1_000, 4_000), { maxRunning: 1 });
  // At 0, 4, 8 and 12 seconds instead of 0, 1, 2 and 3.
  expect([delayed, delayMaxMs, mostAtOnce]).toEqual([3, 9_000, 1]);
  expect(tried(runs(4, 1_000, 4_000), { maxRunning: 2 })).toMatchObject({ delayed: 2, mostAtOnce: 2 });
  expect(tried(runs(4, 1_000, 4_000), { maxRunning: 4 }).delayed).toBe(0);
});

test("a cap of none lets nothing start", () => {
  expect(tried(runs(5, 1_000, 10), { maxRunning: 0 })).toMatchObject({ delayed: 5, notStarted: 5, mostAtOnce: 0 });
});

test("a rate in a sliding window, and evenly spaced", () => {
  const window = tried(runs(5, 0, 10), { rate: { limit: 2, perMs: 60_000, how: "window" } });
  // Two at once, two after a minute, one after two.
  expect(window).toMatchObject({ delayed: 3, delayMeanMs: 80_000, delayMaxMs: 120_000 });
  const uniform = tried(runs(5, 0, 10), { rate: { limit: 2, perMs: 60_000, how: "uniform" } });
  expect(uniform).toMatchObject({ delayed: 4, delayMeanMs: 75_000, delayMaxMs: 120_000 });
});

test("what would have started after the hour is told apart, and its delay is counted up to the end", () => {
  const late = tried(runs(3, 0, 10), { rate: { limit: 1, perMs: 3_000_000, how: "window" } });
  expect(late).toMatchObject({ starts: 3, delayed: 2, notStarted: 1, delayMaxMs: UNTIL });
});
