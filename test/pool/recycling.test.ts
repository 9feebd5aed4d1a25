// When a child is replaced by a fresh one: limits by dice, so that children that began together are not replaced together, and one at a time.
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import type { Child } from "../../src/pool/child.js";
import { Recycling } from "../../src/pool/recycling.js";

const childOf = (given: Partial<Child>) =>
  ({ jobsOfProcess: 0, ageMs: 0, memoryBytes: 0, isDraining: false, ...given }) as Child;

test("each child has limits of its own, up to a fifth above what is set", async () => {
  const dice = [0, 1, 0.5];
  const clock = { ...systemClock, random: () => dice.shift()! };
  const asked: string[] = [];
  const recycling = new Recycling({ jobs: 100, ageMs: 1_000 }, clock, async (_, why) => {
    asked.push(why);
    return true;
  });
  const [early, late, old] = [
    childOf({ jobsOfProcess: 100 }),
    childOf({ jobsOfProcess: 119 }),
    childOf({ ageMs: 1_099 }),
  ];
  for (const child of [early, late, old]) recycling.born(child);
  for (const child of [early, late, old]) recycling.look(child);
  await recycling.restart([], "");
  expect(asked).toEqual(["recycled after 100 jobs"]);
  Object.assign(late, { jobsOfProcess: 120 });
  Object.assign(old, { ageMs: 1_100 });
  recycling.look(late);
  recycling.look(old);
  await expect.poll(() => asked.slice(1)).toEqual(["recycled after 120 jobs", "recycled after 1 s"]);
});

test("memory is measured, not thrown for: at what is set, and not a byte before", async () => {
  const asked: string[] = [];
  const recycling = new Recycling({ memoryBytes: 64 * 1024 ** 2 }, systemClock, async (_, why) => {
    asked.push(why);
    return true;
  });
  const child = childOf({ memoryBytes: 64 * 1024 ** 2 - 1 });
  recycling.born(child);
  recycling.look(child);
  await recycling.restart([], "");
  expect(asked).toEqual([]);
  Object.assign(child, { memoryBytes: 64 * 1024 ** 2 });
  recycling.look(child);
  await expect.poll(() => asked).toEqual(["recycled at 64 MiB"]);
});

test("one at a time, each once, and none after a stop", async () => {
  let running = 0;
  const begun: Child[] = [];
  const ends: (() => void)[] = [];
  const recycling = new Recycling({}, systemClock, async (child) => {
    expect(++running).toBe(1);
    begun.push(child);
    await new Promise<void>((resolve) => ends.push(resolve));
    running--;
    return true;
  });
  const [first, second, third] = [childOf({}), childOf({}), childOf({})];
  const done = [
    recycling.ask(first, "a"),
    recycling.ask(first, "a"),
    recycling.ask(second, "b"),
    recycling.ask(third, "c"),
  ];
  await expect.poll(() => begun).toEqual([first]);
  ends.shift()!();
  await expect.poll(() => begun).toEqual([first, second]);
  recycling.stop();
  ends.shift()!();
  await Promise.all(done);
  expect(begun).toEqual([first, second]);
});
