import fc from "fast-check";
import { expect, test } from "vitest";
import { newWorkerId } from "../../src/core/worker/worker-id.js";

const FACTS = { host: "web-1.example.com", pid: 4711, nowMs: 1_700_000_000_000, random: 0.5 };

test("A2: a worker's name says host, process, start and dice", () => {
  expect(newWorkerId(FACTS)).toBe(`web-1.example.com-4711-${(1_700_000_000_000).toString(36)}-i0000`);
});

test("A2: another process, another moment or other dice make another name", () => {
  const names = [FACTS, { ...FACTS, pid: 4712 }, { ...FACTS, nowMs: FACTS.nowMs + 1 }, { ...FACTS, random: 0.51 }];
  expect(new Set(names.map(newWorkerId)).size).toBe(4);
});

test("A2: any host name, however odd, gives a short name of plain characters with all four parts", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc.integer({ min: 1, max: 4_194_304 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (host, pid, random) => {
        const name = newWorkerId({ host, pid, nowMs: 1_700_000_000_000.7, random });
        expect(name).toMatch(/^[A-Za-z0-9.-]{1,60}-\d+-[0-9a-z]+-[0-9a-z]{5}$/);
        // The notification of a cancelled job carries it, and the schema keeps no more than 200 characters.
        expect(name.length).toBeLessThan(100);
      },
    ),
  );
});
