// The history: a partition a day, a rest that catches what has none, and retention that never stands in the way of a session.
import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import {
  type Asker,
  call,
  claimLanes,
  ended,
  endLease,
  enqueueOne,
  fill,
  live,
  partitionOf,
  recover,
  register,
  settle,
  traces,
} from "../../support/sql/calls.js";
import { useSessions, waitUntilBlocked } from "../../support/sql/sessions.js";

const db = useDatabase();
// Declared before the sessions, hence run after they are closed: it needs the locks that they may still hold.
afterEach(async () => {
  await db.query("delete from fairmill.job_history");
  await dropDays();
  await makePartitions();
});
const open = useSessions(db);

const today = "to_char(now() at time zone 'UTC', 'YYYYMMDD')";
const partitions = async () =>
  (
    await db.query<{ name: string }>(
      "select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'fairmill.job_history'::regclass order by 1",
    )
  ).map(({ name }) => name);
const makePartitions = (ask: Asker = db, days = 3) => call<number>(ask, "history_partitions_v1($1)", [days]);
const retain = (keep: string, ask: Asker = db, rowsMax = 5000) =>
  call<number>(ask, "retention($1, $2)", [keep, rowsMax]);

const dropDays = () =>
  db.query(`do $$ declare v text; begin
    for v in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
             where i.inhparent = 'fairmill.job_history'::regclass and c.relname <> 'job_history_rest'
    loop execute format('drop table fairmill.%I', v); end loop; end $$`);

/** The partition of a day in the past. */
const makeOld = (day: string) =>
  db.query(
    `create table fairmill.job_history_${day.replaceAll("-", "")} partition of fairmill.job_history
     for values from ('${day} 00:00+00') to ('${day} 24:00+00')`,
  );

/** A job that ended at a time of its own, past the functions. */
async function endedAt(time: string): Promise<string> {
  const [row] = await db.query<{ id: string }>(
    `insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, ended_at, payload, worker)
     values (nextval('fairmill.job_id_seq'), 1, 0, 1, 0, 3, 'done', 'default', 'default', 'work', $1, $1, '{}', 'w') returning id`,
    [time],
  );
  return row!.id;
}

async function doneJob(): Promise<string> {
  const id = await enqueueOne(db);
  await settle(db, "w", await claimLanes(db, "w", [{ tenant: "default" }], 1), "done");
  return id;
}

describe("partitions", () => {
  test("today and three days ahead have one, and a job that ends goes into today's", async () => {
    const [{ day }] = (await db.query<{ day: string }>(`select ${today} as day`)) as [{ day: string }];
    const names = await partitions();
    expect(names).toHaveLength(5);
    expect(names[0]).toBe(`job_history_${day}`);
    expect(names.at(-1)).toBe("job_history_rest");
    expect(await partitionOf(db, await doneJob())).toBe(`job_history_${day}`);
    expect(await makePartitions()).toBe(0);
    expect(await makePartitions(db, 5)).toBe(2);
  });

  test("a settle never fails for want of a partition: the rest catches the row, and it moves along when the partition is made", async () => {
    await dropDays();
    const id = await doneJob();
    const old = await endedAt("2020-05-05 12:00+00");
    expect(await partitionOf(db, id)).toBe("job_history_rest");
    const before = await ended(db, id);
    expect(await makePartitions()).toBe(4);
    expect(await partitionOf(db, id)).toMatch(/^job_history_\d{8}$/);
    expect(await ended(db, id)).toEqual(before);
    expect(await partitionOf(db, old)).toBe("job_history_rest");
    // It is there once, and found by its id like any other.
    expect(await db.query("select from fairmill.job_history where id = $1", [id])).toHaveLength(1);
    expect(await call<string>(db, "cancel_v1($1)", [id])).toBe("ended");
  });

  test("days are those of UTC, whatever the session's time zone is", async () => {
    await dropDays();
    const session = await open();
    await session.query("set timezone = 'Pacific/Kiritimati'");
    await makePartitions(session);
    const bounds = await db.query<{ bound: string; day: string }>(
      `select pg_get_expr(c.relpartbound, c.oid) as bound, right(c.relname, 8) as day from pg_class c
       where c.relnamespace = 'fairmill'::regnamespace and c.relkind = 'r' and c.relname ~ '^job_history_\\d{8}$' order by 2`,
    );
    const [{ day }] = (await db.query<{ day: string }>(`select ${today} as day`)) as [{ day: string }];
    expect(bounds[0]!.day).toBe(day);
    const [same] = await db.query(
      `select now() >= (to_date($1, 'YYYYMMDD')::text || ' 00:00+00')::timestamptz as inside`,
      [day],
    );
    expect(same).toEqual({ inside: true });
    expect(
      await partitionOf(db, await endedAt(`${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)} 00:00:00+00`)),
    ).toBe(`job_history_${day}`);
    expect(
      await partitionOf(db, await endedAt(`${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)} 23:59:59.999999+00`)),
    ).toBe(`job_history_${day}`);
  });

  test("a new partition has the keys, indexes and checks of the others", async () => {
    await makePartitions(db, 4);
    const names = (await partitions()).filter((name) => name !== "job_history_rest");
    const shape = (name: string) =>
      db.query(
        `select replace(pg_get_indexdef(indexrelid), $1, 'DAY') as it from pg_index where indrelid = ('fairmill.' || $1)::regclass
         union all select conname || pg_get_constraintdef(oid) from pg_constraint where conrelid = ('fairmill.' || $1)::regclass and contype = 'c'
         order by 1`,
        [name],
      );
    const first = await shape(names[0]!);
    expect(first).toHaveLength(7);
    expect(await shape(names.at(-1)!)).toEqual(first);
  });

  test("a session that reads the history for long does not make it wait: it gives up, nothing is half made, and the next call succeeds", async () => {
    await dropDays();
    const reader = await open();
    await reader.query("begin isolation level repeatable read");
    await reader.query("select count(*) from fairmill.job_history");
    // It answers while the reader still reads.
    expect(await makePartitions()).toBe(0);
    expect(await partitions()).toEqual(["job_history_rest"]);
    const id = await doneJob();
    await reader.query("commit");
    expect(await makePartitions()).toBe(4);
    expect(await partitionOf(db, id)).not.toBe("job_history_rest");
  });

  test("a session that makes partitions at the same time is not an error either, and does not spoil the rest of the upkeep", async () => {
    await dropDays();
    const other = await open();
    await other.query("begin");
    expect(await makePartitions(other)).toBe(4);
    const due = await enqueueOne(db, { delay_ms: 60_000 });
    await db.query("update fairmill.job set run_at = now() - interval '1 second' where id = $1", [due]);
    const [report] = await db.query<{ promoted: number }>("select * from fairmill.tick_upkeep_v1()");
    expect(report!.promoted).toBe(1);
    await other.query("commit");
    expect(await makePartitions()).toBe(0);
    expect(await partitions()).toHaveLength(5);
  });
});

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
    const sweeping = retain("30 days", sweeper);
    await waitUntilBlocked(db, sweeper);
    // The reader still reads: a settle that came behind the sweeper in the line waits until the sweeper gives up, no longer.
    for (const job of jobs) expect((await settle(settler, "w", [job], "done")).accepted).toBe(1);
    expect(await sweeping).toBe(1);
    expect(await partitions()).toHaveLength(8);
    await reader.query("commit");
    expect(await retain("30 days")).toBe(3);
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
