// What a worker asks for: its free capacity, what the settings say is claimed ahead, and else as much as short jobs have shown.
import { expect, test } from "vitest";
import type { Claim } from "../../../src/core/job/claim.js";
import { Capacity } from "../../../src/core/worker/capacity.js";

const claim = { queue: "q" } as Claim;
const of = (max: number, ahead?: number) =>
  new Capacity(new Map([["q", max]]), new Map(ahead === undefined ? [] : [["q", ahead]]));

/** Jobs come and end, one after the other, in this moment. */
function run(capacity: Capacity, count: number, durationMs: number, nowMs: number): void {
  for (let i = 0; i < count; i++) {
    capacity.add(claim);
    capacity.fill();
    capacity.give("q", durationMs, nowMs);
  }
}
const demand = (capacity: Capacity, nowMs: number) => capacity.demand(nowMs).get("q") ?? 0;

test("without a setting nothing is claimed ahead at first, and as much as short jobs have ended lately", () => {
  const capacity = of(4);
  expect(demand(capacity, 0)).toBe(4);
  run(capacity, 7, 10, 1005);
  expect(demand(capacity, 1009)).toBe(4 + 7);
  run(capacity, 3, 0, 1012);
  expect(demand(capacity, 1019)).toBe(4 + 10);
  expect(demand(capacity, 1020)).toBe(4 + 3);
  expect(demand(capacity, 1030)).toBe(4);
});

test("never more than ten times the places, and nothing ahead of jobs that take longer", () => {
  const capacity = of(4);
  run(capacity, 500, 11, 1000);
  expect(demand(capacity, 1000)).toBe(4);
  run(capacity, 500, 9, 1000);
  expect(demand(capacity, 1000)).toBe(4 + 40);
});

test("for the last few of many there is no claim of their own", () => {
  const capacity = of(2);
  run(capacity, 10, 1, 1000);
  for (let i = 0; i < 9; i++) capacity.add(claim);
  capacity.fill();
  expect(demand(capacity, 1000)).toBe(0);
  capacity.give("q", 50, 1000);
  capacity.fill();
  capacity.give("q", 50, 1000);
  capacity.fill();
  expect(capacity.waiting).toBe(5);
  expect(demand(capacity, 1000)).toBe(5);
});

test("A4: with a single place nothing is claimed ahead: jobs run strictly in their order", () => {
  const capacity = of(1);
  run(capacity, 10, 1, 1000);
  expect(demand(capacity, 1000)).toBe(1);
});

test("what the settings say is claimed ahead, whatever jobs take", () => {
  const none = of(4, 0);
  run(none, 100, 0, 1000);
  expect(demand(none, 1000)).toBe(4);
  const some = of(4, 3);
  run(some, 100, 0, 1000);
  expect(demand(some, 1000)).toBe(7);
  some.add(claim);
  expect([some.line.length, some.unasked.length]).toEqual([1, 0]);
});
