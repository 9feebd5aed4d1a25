// Retention of the history: it never stands in the way of a session, and removes what is old in portions.
import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import {
  call,
  claimLanes,
  ended,
  endLease,
  enqueueOne,
  fill,
  live,
  recover,
  register,
  settle,
  traces,
} from "../../support/sql/calls.js";
import { useSessions, waitUntilBlocked } from "../../support/sql/sessions.js";
import { historyRig } from "./history-rig.js";

const db = useDatabase();
const { partitions, makePartitions, retain, dropDays, makeOld, endedAt, doneJob } = historyRig(db);
// Declared before the sessions, hence run after they are closed: it needs the locks that they may still hold.
afterEach(async () => {
  await db.query("delete from fairmill.job_history");
  await dropDays();
  await makePartitions();
});
const open = useSessions(db);

describe("retention", () => {
  test("B10: whole days that are over for longer than the time to keep are dropped; days that are partly younger stay", async () => {
    for (const day of ["2020-01-01", "2020-01-02", "2020-01-03"]) {
      await makeOld(day);
      await endedAt(`${day} 12:00+00`);
    }
    // To keep: from noon of the second on.
    const [{ keep }] = (await db.query<{ keep: string }>("select (now() - '2020-01-02 12:00+00')::text as keep")) as [
      { keep: string },
    ];
    expect(await retain(keep)).toBe(1);
    expect((await partitions()).slice(0, 2)).toEqual(["job_history_20200102", "job_history_20200103"]);
    expect(await retain("30 days")).toBe(2);
    expect(await partitions()).toHaveLength(5);
    expect(await retain("30 days")).toBe(0);
  });

  test("B10: old rows of the rest go in portions, young ones stay", async () => {
    await dropDays();
    for (let n = 0; n < 5; n++) await endedAt("2020-01-01 12:00+00");
    const young = await doneJob();
    expect(await retain("30 days", db, 2)).toBe(2);
    expect(await retain("30 days", db, 2)).toBe(2);
    expect(await retain("30 days", db, 2)).toBe(1);
    expect(await retain("30 days", db, 2)).toBe(0);
    expect(await db.query("select id from fairmill.job_history")).toEqual([{ id: young }]);
  });

  test("B10: idempotency keys live as long as the history, and as long as their job", async () => {
    const age = (key: string) =>
      db.query("update fairmill.idempotency set created_at = now() - interval '31 days' where key = $1", [key]);
    for (const key of ["old and ended", "young and ended", "old and live"])
      await enqueueOne(db, { idempotency_key: key, tenant: key });
    await db.query("delete from fairmill.job where tenant <> 'old and live'");
    await age("old and ended");
    await age("old and live");
    expect(await retain("30 days")).toBe(1);
    expect(await db.query("select key from fairmill.idempotency order by 1")).toEqual([
      { key: "old and live" },
      { key: "young and ended" },
    ]);
  });

  test("B10: keys go in portions, oldest first", async () => {
    for (let n = 0; n < 5; n++) await enqueueOne(db, { idempotency_key: `k${n}` });
    await db.query("delete from fairmill.job");
    await db.query(
      "update fairmill.idempotency set created_at = now() - interval '31 days' - right(key, 1)::integer * interval '1 day'",
    );
    expect(await retain("30 days", db, 3)).toBe(3);
    expect(await db.query("select key from fairmill.idempotency order by 1")).toEqual([{ key: "k0" }, { key: "k1" }]);
  });

  test("B10: workers that are gone for a day are forgotten, those that still hold jobs or live are not", async () => {
    for (const worker of ["alive", "gone", "fresh", "holding"]) await register(db, worker);
    await fill(db, 1);
    await claimLanes(db, "holding", [{ tenant: "default" }], 1);
    await db.query(
      "update fairmill.worker set state = 'lost', ended_at = now() - interval '25 hours' where id in ('gone', 'holding')",
    );
    await db.query(
      "update fairmill.worker set state = 'stopped', ended_at = now() - interval '23 hours' where id = 'fresh'",
    );
    expect(await retain("30 days")).toBe(1);
    expect(await db.query("select id from fairmill.worker order by 1")).toEqual([
      { id: "alive" },
      { id: "fresh" },
      { id: "holding" },
    ]);
  });

  test("B10: a session that reads the history for long makes it give up quickly, not block settles, and do the rest of its work", async () => {
    for (const day of ["2020-01-01", "2020-01-02", "2020-01-03"]) await makeOld(day);
    await enqueueOne(db, { idempotency_key: "k" });
    await db.query("update fairmill.idempotency set created_at = now() - interval '31 days'");
    await db.query("delete from fairmill.job");
    await fill(db, 30);
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 30);

    const [reader, sweeper, settler] = [await open(), await open(), await open()];
    await reader.query("begin isolation level repeatable read");
    await reader.query("select count(*) from fairmill.job_history");
    const sweeping = call<number>(sweeper, "retention(waits_for => '1 day')");
    await waitUntilBlocked(db, sweeper);
    // The reader still reads: a settle that came behind the sweeper in the line waits until the sweeper gives up, no longer.
    for (const job of jobs) expect((await settle(settler, "w", [job], "done")).accepted).toBe(1);
    expect(await sweeping).toBe(1);
    expect(await partitions()).toHaveLength(8);
    await reader.query("commit");
    expect(await retain("30 days")).toBe(3);
  });

  test("B10: a session that has read the history for longer is not waited for: no settle gets in line behind that", async () => {
    await makeOld("2020-01-01");
    const [reader, other, sweeper] = [await open(), await open(), await open()];
    await reader.query("begin isolation level repeatable read");
    await reader.query("select count(*) from fairmill.job_history");
    // For this once it would wait for the lock for ever, and be cancelled.
    await sweeper.query("begin");
    await sweeper.query("alter function fairmill.retention set lock_timeout = 0");
    await sweeper.query("set local statement_timeout = '20s'");
    expect(await call<number>(sweeper, "retention(waits_for => '0')")).toBe(0);
    await sweeper.query("rollback");
    await reader.query("commit");
    // A transaction that has not touched the history is in nobody's way, however old it is.
    await other.query("begin");
    await other.query("select pg_current_xact_id()");
    expect(await call<number>(sweeper, "retention(waits_for => '0')")).toBe(1);
    await other.query("commit");
  });

  test("B10: rows that another session holds are left for a later call, and the upkeep around it is not undone", async () => {
    await dropDays();
    const [held, free] = [await endedAt("2020-01-01 12:00+00"), await endedAt("2020-01-01 13:00+00")];
    for (const worker of ["held", "free"]) {
      await register(db, worker);
      await db.query(
        "update fairmill.worker set state = 'lost', ended_at = now() - interval '25 hours' where id = $1",
        [worker],
      );
    }
    const other = await open();
    await other.query("begin");
    await other.query("select from fairmill.job_history where id = $1 for update", [held]);
    await other.query("select from fairmill.worker where id = 'held' for update");
    const due = await enqueueOne(db, { delay_ms: 60_000 });
    await db.query("update fairmill.job set run_at = now() - interval '1 second' where id = $1", [due]);
    const [report] = await db.query<{ promoted: number; removed: number }>("select * from fairmill.tick_upkeep_v1()");
    expect(report).toMatchObject({ promoted: 1, removed: 2 });
    expect(await live(db, due)).toMatchObject({ state: "ready" });
    expect([await ended(db, free), await ended(db, held)]).toMatchObject([undefined, { id: held }]);
    await other.query("commit");
    expect(await retain("30 days")).toBe(2);
  });

  test("a recovery and a retention in one transaction cannot deadlock with the late settle that waits for the recovered job", async () => {
    await makeOld("2020-01-01");
    await fill(db, 1);
    await register(db, "w");
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 1);
    await endLease(db, "w");
    const [upkeep, settler] = [await open(), await open()];
    await upkeep.query("begin");
    expect(await recover(upkeep)).toEqual({ recovered: 1, ended: 0 });
    const late = settle(settler, "w", jobs, "done");
    await waitUntilBlocked(db, settler);
    expect(await retain("30 days", upkeep)).toBe(0);
    await upkeep.query("commit");
    expect(await late).toEqual({ accepted: 0, refused: [jobs[0]!.id] });
    expect(await retain("30 days")).toBe(1);
  });

  test("where nothing is old, nothing changes", async () => {
    await doneJob();
    await register(db, "alive");
    await enqueueOne(db, { idempotency_key: "k" });
    const before = await traces(db);
    expect(await retain("30 days")).toBe(0);
    expect(await traces(db)).toEqual(before);
  });
});
