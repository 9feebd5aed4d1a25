// A desk alone, with a shared state that the test answers for.
import { expect, test } from "vitest";
import { Desk, type Grant } from "../../src/providers/desk.js";
import type { ProviderSettings } from "../../src/providers/provider.js";
import type { SyncAnswer, SyncFacts } from "../../src/providers/provider-statements.js";
import { ManualClock } from "../support/clocks.js";

/** Words of a desk, each of which waits for its answer. */
function deskOf(settings: Partial<ProviderSettings>) {
  const words: { readonly facts: SyncFacts; readonly answer: (answer?: Partial<SyncAnswer>) => void }[] = [];
  const clock = new ManualClock();
  const desk = new Desk({ name: "p", ...settings } as ProviderSettings, {
    clock,
    sync: (_, facts) =>
      new Promise((resolve) => {
        const answer = (more: Partial<SyncAnswer> = {}) =>
          resolve({ at: clock.nowMs, permits: 1, keep_ms: 0, others_wait: false, ...more });
        words.push({ facts, answer });
      }),
    trouble: (_, error) => {
      throw error;
    },
  });
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { desk, words, turn };
}

test("the last word has the figures, also where another one was to follow the one that is under way, and none comes behind it", async () => {
  const { desk, words, turn } = deskOf({ inFlight: 1 });
  const taken = desk.take(() => false);
  words[0]!.answer();
  const grant = (await taken) as Grant;
  desk.end(grant, "failed", 5, undefined);
  await turn();
  // The second word is under way, and what is heard meanwhile asks for a third one.
  expect(words).toHaveLength(2);
  const second = desk.take(() => false);
  const left = desk.leave();
  words[1]!.answer({ permits: 0 });
  await turn();
  expect(words).toHaveLength(3);
  expect(words[2]!.facts).toMatchObject({ minute: expect.anything() });
  words[2]!.answer({ closed_why: "hand" });
  await left;
  expect(await second).toMatchObject({ provider: "p" });
  await turn();
  expect(words).toHaveLength(3);
});

test("a handler that outlives the stop of its worker begins no call", async () => {
  const { desk, words } = deskOf({ inFlight: 1 });
  await desk.leave();
  expect(await desk.take(() => false)).toBeUndefined();
  expect(words).toEqual([]);
});
