import fc from "fast-check";
import { expect, test } from "vitest";
import { compareIds, isSortedById } from "../../src/base/job-id.js";

const ids = fc.array(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String));

test("ids are ordered like the numbers they are, beyond 2^53 too", () => {
  fc.assert(
    fc.property(ids, (some) => {
      const sorted = some.toSorted(compareIds);
      expect(sorted).toEqual(some.toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0)));
      expect(isSortedById(sorted, (id) => id)).toBe(true);
      expect(isSortedById(some, (id) => id)).toBe(some.join() === sorted.join());
    }),
  );
});
