// The loop that drives every service: by a clock of the test's own.
import { expect, onTestFinished, test } from "vitest";
import { type Service, ServiceLoop } from "../../src/base/service.js";
import { ManualClock } from "../support/clocks.js";

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** A service whose rounds are noted, and end with what `rounds` says of them. */
function rig(round: (n: number) => number | Promise<number>, more: Partial<Service> = {}) {
  const clock = new ManualClock();
  const rounds: { atMs: number; isOnTime: boolean }[] = [];
  const troubles: [string, unknown][] = [];
  let signal: AbortSignal | undefined;
  const service: Service = {
    name: "counting",
    retry: { firstMs: 100, maxMs: 1_000 },
    runOnce: async (given, isOnTime) => {
      signal = given;
      rounds.push({ atMs: clock.nowMs, isOnTime });
      return round(rounds.length);
    },
    ...more,
  };
  const loop = new ServiceLoop(clock, service, (doing, error) => troubles.push([doing, error]));
  onTestFinished(() => loop.stop());
  const pass = async (ms: number) => {
    await settle();
    clock.move(ms);
    await settle();
  };
  return { clock, loop, rounds, troubles, pass, signal: () => signal!, times: () => rounds.map(({ atMs }) => atMs) };
}

test("the first round begins at once, each other one when the round before it says", async () => {
  const { loop, rounds, pass } = rig((n) => n * 10);
  loop.start();
  for (let n = 0; n < 70; n++) await pass(1);
  expect(rounds).toEqual([
    { atMs: 0, isOnTime: false },
    { atMs: 10, isOnTime: true },
    { atMs: 30, isOnTime: true },
    { atMs: 60, isOnTime: true },
  ]);
});

test("a service may begin later, unless it is woken before", async () => {
  const later = rig(() => 1_000);
  later.loop.start(50);
  await later.pass(49);
  expect(later.rounds).toEqual([]);
  await later.pass(1);
  expect(later.rounds).toEqual([{ atMs: 50, isOnTime: false }]);

  const woken = rig(() => 1_000);
  woken.loop.start(50);
  await woken.pass(20);
  woken.loop.wake();
  await woken.pass(0);
  expect(woken.rounds).toEqual([{ atMs: 20, isOnTime: false }]);
});

test("waking begins a round before its time, at once or a while later; a later time than the present one changes nothing", async () => {
  const { loop, rounds, pass } = rig(() => 1_000);
  loop.start();
  await pass(5);
  loop.wake();
  await pass(5);
  loop.wake(20);
  loop.wake(50);
  await pass(19);
  expect(rounds).toHaveLength(2);
  await pass(1);
  expect(rounds).toEqual([
    { atMs: 0, isOnTime: false },
    { atMs: 5, isOnTime: false },
    { atMs: 30, isOnTime: false },
  ]);
});

test("what is announced while a round is under way is seen by another one", async () => {
  let end = (_: number) => {};
  const { loop, rounds, pass } = rig((n) =>
    n === 1
      ? new Promise((resolve) => {
          end = resolve;
        })
      : 1_000,
  );
  loop.start();
  await pass(5);
  loop.wake();
  end(1_000);
  await pass(0);
  expect(rounds).toHaveLength(2);
});

test("a service that waits for being woken keeps no timer", async () => {
  const { clock, loop, rounds, pass } = rig(() => Number.POSITIVE_INFINITY);
  loop.start();
  await pass(0);
  expect(clock.timers.size).toBe(0);
  loop.wake();
  await pass(0);
  expect(rounds).toHaveLength(2);
});

test("a round that fails is told, and followed by another after a pause that doubles and that no waking shortens", async () => {
  const error = new Error("away");
  const { loop, times, troubles, pass } = rig((n) => (n <= 3 ? Promise.reject(error) : 1_000));
  loop.start();
  for (let n = 0; n < 100; n++) {
    loop.wake();
    await pass(10);
  }
  // 100, 200 and 400 ms; from then on every waking counts.
  expect(times().slice(0, 4)).toEqual([0, 100, 300, 700]);
  expect(times()[4]! - times()[3]!).toBeLessThan(20);
  expect(troubles).toEqual(Array.from({ length: 3 }, () => ["counting", error]));
});

test("a service may say that a failure lasts: the pauses behind the first are as long as they get", async () => {
  const { loop, times, pass } = rig(() => Promise.reject(new Error("refused")), {
    failed: (_, pause) => pause.giveItTime(),
  });
  loop.start();
  for (let n = 0; n < 220; n++) await pass(10);
  expect(times()).toEqual([0, 100, 1_100, 2_100]);
});

test("stopping ends a sleep, lets a round end, and begins no other", async () => {
  let end = (_: number) => {};
  let isStopping = false;
  const { loop, rounds, pass, signal } = rig(
    () =>
      new Promise((resolve) => {
        end = resolve;
      }),
    {
      stopping: () => {
        isStopping = true;
      },
    },
  );
  loop.start();
  await pass(0);
  let isStopped = false;
  const stopped = loop.stop().then(() => {
    isStopped = true;
  });
  await settle();
  expect([isStopping, signal().aborted, isStopped]).toEqual([true, true, false]);
  end(0);
  await stopped;
  expect(rounds).toHaveLength(1);

  const sleeping = rig(() => 3_600_000);
  sleeping.loop.start();
  await sleeping.pass(0);
  await sleeping.loop.stop();
  sleeping.loop.wake();
  await sleeping.pass(3_600_000);
  expect(sleeping.rounds).toHaveLength(1);
  expect(sleeping.clock.timers.size).toBe(0);
});

test("a timer of a clock that runs faster than the monotonic one is right", async () => {
  const { clock, loop, rounds, pass } = rig(() => 1_000);
  const after = clock.after;
  clock.after = (ms, then) => after(ms / 20, then);
  loop.start();
  await pass(50);
  expect(rounds).toEqual([
    { atMs: 0, isOnTime: false },
    { atMs: 50, isOnTime: true },
  ]);
});
