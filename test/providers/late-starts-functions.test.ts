// Calls that come late to their starts put off what follows, once for those that are late together.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";

const database = useDatabase();
const GAP_MS = 52;

async function define(): Promise<void> {
  const provider = {
    ...{ name: "pixian", per_second: 20, in_flight: null, timeout_ms: 1000, currency: "USD" },
    ...{ breaker_rate: 0.5, breaker_calls: 4, breaker_window_ms: 60_000, breaker_open_ms: 60_000 },
  };
  await database.query("select fairmill.define_providers_v1($1)", [JSON.stringify([provider])]);
  await database.query("select fairmill.register_v1('a', queues => '{default}', kinds => '{sticker}')");
}

async function starts(count: number, late: readonly { of: number; ms: number }[] = []): Promise<number[]> {
  const facts = { held: 0, waiting: count, wanted: count, ...(late.length > 0 && { late }) };
  const [row] = await database.query<{ answer: { starts: number[] } }>(
    "select fairmill.sync_provider_v1('pixian', 'a', $1) as answer",
    [JSON.stringify(facts)],
  );
  return row!.answer.starts;
}

test("calls that were given their starts together are put right by the latest of them, in one report or in several", async () => {
  await define();
  const given = await starts(4);
  const [next] = await starts(1, [
    { of: given[0]!, ms: 10 },
    { of: given[1]!, ms: 30 },
  ]);
  expect(next! - given[3]!).toBeCloseTo(GAP_MS + 30, 1);
  // What was put off for the second is enough for the third, and all but 5 ms for the fourth.
  const [after] = await starts(1, [{ of: given[2]!, ms: 30 }]);
  expect(after! - next!).toBeCloseTo(GAP_MS, 1);
  const [last] = await starts(1, [{ of: given[3]!, ms: 35 }]);
  expect(last! - after!).toBeCloseTo(GAP_MS + 5, 1);
});

test("a start that was given out behind a put-off had nothing of it: a call that is late to it puts off again", async () => {
  await define();
  const [first] = await starts(1);
  const [second] = await starts(1, [{ of: first!, ms: 20 }]);
  const [third] = await starts(1, [{ of: second!, ms: 20 }]);
  expect([second! - first!, third! - second!].map(Math.round)).toEqual([GAP_MS + 20, GAP_MS + 20]);
});
