// Requests gathered into groups without waiting.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Batcher, Grouper } from "../../src/base/batcher.js";

interface Sent {
  readonly items: readonly number[];
  answer(): void;
  fail(error: unknown): void;
}

/** A batcher whose groups wait until the test answers them. */
function gated(itemsMax: number, groupsInFlightMax: number, loneAtOnce = false) {
  const sent: Sent[] = [];
  const batcher = new Batcher<number, { n: number }>({
    itemsMax,
    groupsInFlightMax,
    loneAtOnce,
    send: (items) =>
      new Promise((resolve, reject) => {
        sent.push({ items, answer: () => resolve(items.map((n) => ({ n }))), fail: reject });
      }),
  });
  return { batcher, sent };
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("requests of the same turn leave together, and each gets its own answer", async () => {
  const { batcher, sent } = gated(100, 1);
  const answers = Promise.all([1, 2, 3].map((n) => batcher.add(n)));
  await nextTurn();
  expect(sent.map(({ items }) => items)).toEqual([[1, 2, 3]]);
  sent[0]!.answer();
  expect(await answers).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
});

test("a lone request leaves at once", async () => {
  const { batcher, sent } = gated(100, 1);
  const answer = batcher.add(1);
  await nextTurn();
  expect(sent).toHaveLength(1);
  sent[0]!.answer();
  await answer;
});

test("one that asks for it leaves where it stands, and so does the next one when it is answered", async () => {
  const { batcher, sent } = gated(100, 2, true);
  for (const n of [1, 2, 3]) {
    const answer = batcher.add(n);
    expect(sent).toHaveLength(n);
    sent.at(-1)!.answer();
    await answer;
  }
});

test("those that come with it leave together, and behind a group of several all do", async () => {
  const { batcher, sent } = gated(100, 2, true);
  const first = Promise.all([1, 2, 3].map((n) => batcher.add(n)));
  expect(sent.map(({ items }) => items)).toEqual([[1]]);
  await nextTurn();
  expect(sent.map(({ items }) => items)).toEqual([[1], [2, 3]]);
  for (const { answer } of sent) answer();
  expect(await first).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  const second = Promise.all([4, 5].map((n) => batcher.add(n)));
  expect(sent).toHaveLength(2);
  await nextTurn();
  expect(sent[2]!.items).toEqual([4, 5]);
  sent[2]!.answer();
  await second;
});

test("while one group is on its way the next one fills, in order and within its bound", async () => {
  const { batcher, sent } = gated(3, 1);
  const first = batcher.add(0);
  await nextTurn();
  const rest = Promise.all([1, 2, 3, 4, 5, 6, 7].map((n) => batcher.add(n)));
  await nextTurn();
  expect(sent).toHaveLength(1);
  for (let i = 0; i < 4; i++) {
    sent[i]!.answer();
    await nextTurn();
    await nextTurn();
  }
  await first;
  await rest;
  expect(sent.map(({ items }) => items)).toEqual([[0], [1, 2, 3], [4, 5, 6], [7]]);
});

test("no more groups are on their way than allowed, whatever the order of the answers", async () => {
  const { batcher, sent } = gated(1, 2);
  const answers = Promise.all(Array.from({ length: 6 }, (_, n) => batcher.add(n)));
  const open = new Set<Sent>();
  let answered = 0;
  while (answered < 6) {
    await nextTurn();
    for (const group of sent.slice(answered + open.size)) open.add(group);
    expect(open.size).toBeLessThanOrEqual(2);
    const last = [...open].at(-1)!;
    open.delete(last);
    last.answer();
    answered++;
    await nextTurn();
  }
  expect((await answers).map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5]);
});

test("an error of one item is that item's alone", async () => {
  const batcher = new Batcher<number, { n: number }>({
    itemsMax: 10,
    groupsInFlightMax: 1,
    send: async (items) => items.map((n) => (n === 2 ? { error: new Error("two is bad") } : { n })),
  });
  const results = await Promise.allSettled([1, 2, 3].map((n) => batcher.add(n)));
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect((results[1] as PromiseRejectedResult).reason.message).toBe("two is bad");
});

test("a group that fails fails all of its items, and the next group goes on", async () => {
  const { batcher, sent } = gated(2, 1);
  const results = Promise.allSettled([1, 2, 3].map((n) => batcher.add(n)));
  await nextTurn();
  sent[0]!.fail(new Error("lost"));
  await nextTurn();
  await nextTurn();
  sent[1]!.answer();
  expect((await results).map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
});

test("an answer that does not fit the question is an error, not silence", async () => {
  const batcher = new Batcher<number, { n: number }>({
    itemsMax: 10,
    groupsInFlightMax: 1,
    send: async () => [{ n: 1 }],
  });
  const results = await Promise.allSettled([batcher.add(1), batcher.add(2)]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});

test("whatever comes when, every request is answered once, in groups within bounds that keep the order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 8 }),
      async (itemsMax, groupsInFlightMax, bursts) => {
        let inFlight = 0;
        const order: number[] = [];
        const batcher = new Batcher<number, { n: number }>({
          itemsMax,
          groupsInFlightMax,
          send: async (items) => {
            inFlight++;
            order.push(...items);
            expect(items.length).toBeLessThanOrEqual(itemsMax);
            expect(inFlight).toBeLessThanOrEqual(groupsInFlightMax);
            await nextTurn();
            inFlight--;
            return items.map((n) => ({ n }));
          },
        });
        let next = 0;
        const answers: Promise<{ n: number }>[] = [];
        for (const burst of bursts) {
          for (let i = 0; i < burst; i++) answers.push(batcher.add(next++));
          await nextTurn();
        }
        expect((await Promise.all(answers)).map(({ n }) => n)).toEqual(Array.from({ length: next }, (_, n) => n));
        expect(order).toEqual(order.toSorted((a, b) => a - b));
      },
    ),
    { numRuns: 50 },
  );
});

test("groups that are handed in again leave before the items that wait, and idle is told when nothing is left", async () => {
  const sent: string[] = [];
  let idle = 0;
  const grouper = new Grouper<string, string>({
    groupsInFlightMax: 1,
    sizeOf: (waiting) => Math.min(waiting.length, 2),
    toGroup: (items) => items.join(""),
    send: async (group) => {
      sent.push(group);
      if (group === "ab") {
        grouper.addGroup("a");
        grouper.addGroup("b");
      }
      await nextTurn();
    },
    onIdle: () => void idle++,
  });
  for (const item of ["a", "b", "c"]) grouper.add(item);
  expect(grouper.isIdle).toBe(false);
  while (!grouper.isIdle) await nextTurn();
  expect(sent).toEqual(["ab", "a", "b", "c"]);
  expect(idle).toBe(1);
});

test("a send that rejects is told, and holds up no group behind it", async () => {
  const sent: string[] = [];
  const faults: unknown[] = [];
  const grouper = new Grouper<string, string>({
    groupsInFlightMax: 1,
    sizeOf: () => 1,
    toGroup: ([item]) => item!,
    send: async (group) => {
      sent.push(group);
      if (group === "a") throw new Error("a fault");
    },
    onFault: (error) => faults.push(error),
  });
  grouper.add("a");
  grouper.add("b");
  while (!grouper.isIdle) await nextTurn();
  expect(sent).toEqual(["a", "b"]);
  expect(faults).toEqual([new Error("a fault")]);
});
