import fc from "fast-check";
import { expect, test } from "vitest";
import { interleave } from "../../../src/core/claim/interleave.js";
import type { Claim } from "../../../src/core/job/claim.js";

const lane = (tenant: string, ...ids: number[]) => ids.map((id) => ({ id: String(id), tenant }) as Claim);
const names = (claims: readonly Claim[]) => claims.map(({ tenant, id }) => tenant + id).join(" ");

test("C2 FAIR2: one job of each lane in turn, oldest first within a lane", () => {
  expect(names(interleave([lane("a", 1, 2, 3), lane("b", 4), lane("c", 5, 6)]))).toBe("a1 b4 c5 a2 c6 a3");
});

test("one lane stays as it is, and nothing gives nothing", () => {
  expect(names(interleave([lane("a", 1, 2)]))).toBe("a1 a2");
  expect(interleave([])).toEqual([]);
  expect(interleave([[], []])).toEqual([]);
});

test("nothing is lost or doubled, and no lane is two jobs ahead of another that still waits", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 8 }), (lengths) => {
      const lanes = lengths.map((length, l) => lane(`${l}`, ...Array.from({ length }, (_, i) => i)));
      const order = interleave(lanes);
      expect(names(order).split(" ").sort()).toEqual(names(lanes.flat()).split(" ").sort());
      const served = lengths.map(() => 0);
      for (const { tenant, id } of order) {
        const l = Number(tenant);
        expect(Number(id)).toBe(served[l]!++);
        for (const [other, length] of lengths.entries())
          if (served[other]! < length) expect(served[l]! - served[other]!).toBeLessThanOrEqual(1);
      }
    }),
  );
});
