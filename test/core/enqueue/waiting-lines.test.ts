// Lines that wait: each in its order, few at a time, none for ever.
import { expect, test } from "vitest";
import { WaitingLines } from "../../../src/core/enqueue/waiting-lines.js";

function lines(linesMax: number, itemsMax = 2) {
  const sent: { items: readonly string[]; answer: () => Promise<void> }[] = [];
  const patient = new WaitingLines<string, string>({
    linesMax,
    itemsMax,
    send: (items) =>
      new Promise((resolve) => {
        sent.push({
          items,
          answer: async () => {
            resolve(items.map((item) => `${item}!`));
            await new Promise(setImmediate);
          },
        });
      }),
  });
  return { patient, sent };
}

test("those of one line are sent in the order in which they came, a group at a time, and each has its own answer", async () => {
  const { patient, sent } = lines(3);
  const answers = ["a1", "a2", "a3", "a4"].map((item) => patient.add("a", item));
  expect(sent.map(({ items }) => items)).toEqual([["a1"]]);
  await sent[0]!.answer();
  expect(sent[1]!.items).toEqual(["a2", "a3"]);
  await sent[1]!.answer();
  await sent[2]!.answer();
  expect(await Promise.all(answers)).toEqual(["a1!", "a2!", "a3!", "a4!"]);
  expect(patient.size).toBe(0);
});

test("no more lines than allowed are served at a time, and a long one lets the others have their turn", async () => {
  const { patient, sent } = lines(1);
  for (const item of ["a1", "a2"]) void patient.add("a", item);
  void patient.add("b", "b1");
  expect(sent).toHaveLength(1);
  expect([patient.has("a"), patient.has("b"), patient.has("c")]).toEqual([true, true, false]);
  for (let n = 0; n < 3; n++) await sent[n]!.answer();
  expect(sent.map(({ items }) => items)).toEqual([["a1"], ["b1"], ["a2"]]);
  expect(patient.size).toBe(0);
});
