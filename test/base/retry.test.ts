// Pauses between tries: longer and longer, bounded, spread, and short again after a success.
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { RetryPause, retrying } from "../../src/base/retry.js";

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

test("begins again after a success, and is as long as it gets where only time helps", () => {
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

const options = { clock: { ...systemClock, after: (_: number, then: () => void) => systemClock.after(0, then) } };

test("tries again while that may help, tells of every failure in between, and throws the last one", async () => {
  const told: unknown[] = [];
  let tries = 0;
  const fail = () => Promise.reject(new Error(`try ${++tries}`));
  const retry = { ...options, pauses: { firstMs: 1, maxMs: 1 }, onTrouble: (error: unknown) => told.push(error) };
  await expect(retrying(fail, { ...retry, mayRepeat: (_, count) => count < 3 })).rejects.toThrow("try 3");
  expect(told.map(String)).toEqual(["Error: try 1", "Error: try 2"]);
  const late = () => (++tries < 6 ? Promise.reject(new Error("again")) : Promise.resolve(tries));
  expect(await retrying(late, { ...retry, mayRepeat: () => true })).toBe(6);
});

test("an abort ends the tries with the last failure", async () => {
  const stop = new AbortController();
  const work = () => Promise.reject(new Error("away"));
  const mayRepeat = () => {
    stop.abort();
    return true;
  };
  const pauses = { firstMs: 3_600_000, maxMs: 3_600_000 };
  await expect(retrying(work, { clock: systemClock, pauses, mayRepeat, signal: stop.signal })).rejects.toThrow("away");
});
