// The history: a partition a day, and a rest that catches what has none.
import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { call, ended, enqueueOne, partitionOf } from "../../support/sql/calls.js";
import { useSessions } from "../../support/sql/sessions.js";
import { historyRig } from "./history-rig.js";

const db = useDatabase();
const { today, partitions, makePartitions, dropDays, endedAt, doneJob } = historyRig(db);
// Declared before the sessions, hence run after they are closed: it needs the locks that they may still hold.
afterEach(async () => {
  await db.query("delete from fairmill.job_history");
  await dropDays();
  await makePartitions();
});
const open = useSessions(db);

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
