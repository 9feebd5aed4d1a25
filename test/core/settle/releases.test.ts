// A job that workers take and give back again and again: each time it waits longer, and says why. A release now and then costs nothing.
import { expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import {
  call,
  claim,
  enqueueKeyed,
  enqueueOne,
  live,
  register,
  setRule,
  settle,
  statesOf,
  tick,
} from "../../support/sql/calls.js";

const db = useDatabase();

/** Claims the job, wherever it waits, and gives it back; returns how long it is to wait, in milliseconds. */
async function release(id: string, reason = "no message"): Promise<number> {
  await db.query("update fairmill.job set run_at = now() where id = $1 and state = 'scheduled'", [id]);
  await tick(db);
  const [job] = await claim(db, "w");
  expect(job!.id).toBe(id);
  expect(await settle(db, "w", [job!], "release", [{ reason }])).toEqual({ accepted: 1, refused: [] });
  const [row] = await db.query<{ ms: number }>(
    "select case when state = 'scheduled' then extract(epoch from run_at - (released ->> 'at')::timestamptz)::float8 * 1000 else 0 end as ms from fairmill.job where id = $1",
    [id],
  );
  return Math.round(row!.ms);
}

test("three releases cost nothing, then each wait is twice the last one, up to a minute; the attempt stays unspent", async () => {
  await register(db, "w");
  const id = await enqueueOne(db);
  const waits: number[] = [];
  for (let n = 0; n < 15; n++) waits.push(await release(id));
  expect(waits.slice(0, 5)).toEqual([0, 0, 0, 100, 200]);
  expect(waits.slice(-3)).toEqual([51_200, 60_000, 60_000]);
  expect(await live(db, id)).toMatchObject({ state: "scheduled", attempt: 0, worker: null, failures: null });
  const [said] = await db.query<{ reason: string }>("select reason from fairmill.why_v1($1) where not passed limit 1", [
    id,
  ]);
  expect(said!.reason).toMatch(
    /^Workers took it and gave it back 15 times in a row, the last time at 2.* \(no message\): it waits longer each time\.$/,
  );
});

test("what ran for a while, or came to something else in between, is released at once again", async () => {
  await register(db, "w");
  const id = await enqueueOne(db);
  for (let n = 0; n < 6; n++) await release(id);
  await db.query("update fairmill.job set run_at = now() where id = $1", [id]);
  await tick(db);
  const [long] = await claim(db, "w");
  // As a worker does that is stopped: its job had begun a minute ago.
  await db.query("update fairmill.job set started_at = now() - interval '1 minute' where id = $1", [id]);
  await settle(db, "w", [long!], "release");
  expect(await statesOf(db, [id])).toEqual(["ready"]);
  for (let n = 0; n < 5; n++) await release(id);
  await db.query("update fairmill.job set run_at = now() where id = $1", [id]);
  await tick(db);
  await settle(db, "w", await claim(db, "w"), "retry", [{ delay_ms: 0, error: { message: "no" } }]);
  await tick(db);
  expect(await release(id)).toBe(0);
});

test("one that has to wait gives up its place under a key", async () => {
  await register(db, "w");
  await setRule(db, { per: "key", max_running: 1 });
  const [first] = await enqueueKeyed(db, 1);
  for (let n = 0; n < 3; n++) await release(first!);
  const [second] = await enqueueKeyed(db, 1);
  expect(await statesOf(db, [second!])).toEqual(["blocked"]);
  expect(await release(first!)).toBe(100);
  expect(await statesOf(db, [first!, second!])).toEqual(["scheduled", "ready"]);
  expect(await call(db, "cancel_v1($1)", [first])).toBe("cancelled");
});
