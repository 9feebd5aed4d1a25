import fc from "fast-check";
import { expect, test } from "vitest";
import { Heap, type Placed } from "../../src/base/heap.js";

interface Item extends Placed {
  rank: number;
}

test("whatever is pushed, popped, taken out of the middle and moved, the first is the least", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 50 }), fc.nat({ max: 1_000 }))), (steps) => {
      const heap = new Heap<Item>((a, b) => a.rank < b.rank);
      const items: Item[] = [];
      for (const [step, rank, pick] of steps) {
        const chosen = items[pick % Math.max(1, items.length)];
        if (step <= 1 || !chosen) {
          items.push({ rank, index: -1 });
          heap.push(items.at(-1)!);
        } else if (step === 2) {
          heap.remove(chosen);
          items.splice(items.indexOf(chosen), 1);
        } else {
          chosen.rank = rank;
          heap.moved(chosen);
        }
        expect(heap.size).toBe(items.length);
        expect(heap.first?.rank).toBe(items.length > 0 ? Math.min(...items.map((item) => item.rank)) : undefined);
      }
      const popped: number[] = [];
      for (let item = heap.pop(); item; item = heap.pop()) popped.push(item.rank);
      expect(popped).toEqual(items.map((item) => item.rank).toSorted((a, b) => a - b));
    }),
  );
});
