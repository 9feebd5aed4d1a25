// Moments that the rate of a key gave to jobs that then ended without a start: others of the key take them over.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { call, claimUnderLimits, enqueueKeyed, setRule, statesOf, tick } from "../support/sql/calls.js";
import { useSessions } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const HOUR = 3_600_000;

/** So many jobs of a key of which the first has started; the others have moments an hour apart. Returns the others. */
async function putBack(count: number, key = "k"): Promise<string[]> {
  await setRule(db, { rate: { limit: 1, per_ms: HOUR } });
  const ids = await enqueueKeyed(db, count + 1, { key });
  expect((await claimUnderLimits(db, "w")).jobs).toHaveLength(1);
  return ids.slice(1);
}

/** In how many hours the jobs that wait are due, by id, and no other job. */
const hours = async (key = "k") =>
  (
    await db.query<{ hours: number }>(
      "select round(extract(epoch from run_at - clock_timestamp()) / 3600)::integer as hours from fairmill.job where rate_limited and key = $1 order by id",
      [key],
    )
  ).map((row) => row.hours);

const cancel = (id: string) => call(db, "cancel_v1($1)", [id]);

test("C3: the moment of a job that is cancelled goes to the one that would wait longest", async () => {
  const ids = await putBack(4);
  const others = await putBack(3, "another");
  expect(await hours()).toEqual([1, 2, 3, 4]);
  await cancel(ids[0]!);
  expect(await hours()).toEqual([2, 3, 1]);
  await cancel(ids[1]!);
  expect(await hours()).toEqual([2, 1]);
  await cancel(ids[3]!);
  expect(await hours()).toEqual([1]);
  expect(await hours("another")).toEqual([1, 2, 3]);
  // No job waits behind the last one.
  await cancel(others[2]!);
  expect(await hours("another")).toEqual([1, 2]);
});

test("the last one left of many waits no longer than the first did, and then starts", async () => {
  const ids = await putBack(60);
  for (const id of ids.slice(0, -1)) await cancel(id);
  expect(await hours()).toEqual([1]);
  await db.query("update fairmill.job set run_at = now() where rate_limited");
  await db.query("update fairmill.meter set spent_at = null, spent = null");
  await tick(db);
  expect((await claimUnderLimits(db, "w")).jobs.map(({ id }) => id)).toEqual([ids.at(-1)]);
});

test("many that expire at once, of several keys: the earliest times are taken, one write for each, and no job starts later", async () => {
  const ids = await putBack(9);
  const others = await putBack(4, "another");
  const before = await db.query<{ id: string; run_at: Date }>("select id, run_at from fairmill.job where rate_limited");
  const gone = [ids[0]!, ids[1]!, ids[2]!, ids[3]!, ids[7]!, others[1]!];
  await db.query("update fairmill.job set expire_at = now() where id = any ($1)", [gone]);
  expect((await tick(db))[0]).toMatchObject({ expired: 6 });
  expect((await hours()).toSorted()).toEqual([1, 2, 3, 4]);
  expect(await hours("another")).toEqual([1, 3, 2]);
  const was = new Map(before.map(({ id, run_at }) => [id, run_at.getTime()]));
  const after = await db.query<{ id: string; run_at: Date }>("select id, run_at from fairmill.job where rate_limited");
  for (const { id, run_at } of after) expect(run_at.getTime()).toBeLessThanOrEqual(was.get(id)!);
  expect(after.filter(({ id, run_at }) => run_at.getTime() < was.get(id)!)).toHaveLength(5);
});

test("a moment that has come makes its heir due, and workers that sleep are told; one that is to come needs no word", async () => {
  const ids = await putBack(4);
  await db.query("update fairmill.worker set listening = true");
  const listener = await open();
  await listener.query("listen fairmill");
  await cancel(ids[0]!);
  await listener.query("select 1");
  expect(listener.notified).toEqual([]);
  await db.query("update fairmill.job set run_at = now() where id = $1", [ids[1]]);
  await tick(db);
  expect(await statesOf(db, [ids[1]!])).toEqual(["ready"]);
  await listener.query("select 1");
  listener.notified.length = 0;
  await cancel(ids[1]!);
  await listener.query("select 1");
  expect(listener.notified).toEqual(["fairmill !due 0"]);
  expect((await tick(db))[0]).toMatchObject({ promoted: 1 });
  expect(await statesOf(db, [ids[2]!, ids[3]!])).toEqual(["ready", "scheduled"]);
});

test("a job that another session has locked is skipped, not waited for", async () => {
  const ids = await putBack(3);
  const holder = await open();
  await holder.query("begin");
  await holder.query("select from fairmill.job where id = $1 for update", [ids[2]]);
  await cancel(ids[0]!);
  await holder.query("commit");
  expect(await hours()).toEqual([1, 3]);
});

test("a job that a rate did not put back leaves no moment", async () => {
  await putBack(2);
  const [later] = await enqueueKeyed(db, 1, { delay_ms: 600_000 });
  await cancel(later!);
  expect(await hours()).toEqual([1, 2]);
});
