import fc from "fast-check";
import { expect, test } from "vitest";
import { halve } from "../../src/claim/halves.js";
import type { Probe } from "../../src/store/claim.js";

const probe = (tenant: string, quantum: number, priority = 0): Probe => ({ priority, tenant, floor: "0", quantum });
const shown = (jobsMax: number, ...probes: Probe[]) =>
  halve(jobsMax, probes).map((half) => [half.jobsMax, ...half.probes.map((one) => `${one.tenant}${one.quantum}`)]);

test("lanes are spread over both halves, each stops at what its lanes are to give", () => {
  expect(shown(2_000, probe("a", 500), probe("b", 500), probe("c", 500), probe("d", 500))).toEqual([
    [1_000, "a500", "c500"],
    [1_000, "b500", "d500"],
  ]);
});

test("a lane with most of the jobs is asked by both, a single one too", () => {
  expect(shown(2_000, probe("a", 1_800), probe("b", 200))).toEqual([
    [1_100, "a900", "b200"],
    [900, "a900"],
  ]);
  expect(shown(1_001, probe("a", 1_001))).toEqual([
    [501, "a501"],
    [500, "a500"],
  ]);
});

test("B8: a lower priority that is asked in case the higher one runs short stands behind it in both halves", () => {
  expect(shown(2_000, probe("high", 2_000, 9), probe("low", 2_000))).toEqual([
    [1_000, "high1000", "low1000"],
    [1_000, "high1000", "low1000"],
  ]);
});

test("C2: the halves together ask no lane for more than the whole did, and want as many jobs", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1_000, max: 10_000 }),
      fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 20 }),
      (jobsMax, quanta) => {
        const halves = halve(
          jobsMax,
          quanta.map((quantum, i) => probe(`t${i}`, quantum)),
        );
        for (const [i, quantum] of quanta.entries()) {
          const asked = halves.flatMap(({ probes }) => probes.filter(({ tenant }) => tenant === `t${i}`));
          expect(asked.reduce((sum, one) => sum + one.quantum, 0)).toBeLessThanOrEqual(quantum);
        }
        const total = quanta.reduce((sum, quantum) => sum + quantum, 0);
        expect(halves.reduce((sum, half) => sum + half.jobsMax, 0)).toBe(Math.min(jobsMax, total));
        for (const half of halves)
          expect(half.probes.reduce((sum, one) => sum + one.quantum, 0)).toBeGreaterThanOrEqual(half.jobsMax);
      },
    ),
  );
});
