// tick_upkeep_v1: everything that fell due in one call, and when to look again.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { claimLanes, endLease, enqueue, enqueueOne, fill, register } from "../../support/sql/calls.js";
import { useSessions } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

/** Moves a time of the job: tests do not wait, they change what is waited for. */
const shift = (id: string, column: "run_at" | "expire_at", by: string) =>
  db.query(`update fairmill.job set ${column} = clock_timestamp() + $2::interval where id = $1`, [id, by]);

describe("tick_upkeep_v1", () => {
  interface Report {
    promoted: number;
    expired: number;
    recovered: number;
    ended: number;
    removed: number;
    next_in_ms: number | null;
  }
  const tick = async (args = ""): Promise<Report> =>
    (await db.query<Report & Record<string, unknown>>(`select * from fairmill.tick_upkeep_v1(${args})`))[0]!;

  test("A7: does everything that has fallen due in one call, and reports it", async () => {
    const [due, old] = (
      await enqueue(db, [
        { kind: "work", delay_ms: 60_000 },
        { kind: "work", expire_ms: 60_000, tenant: "old" },
      ])
    ).map(({ id }) => id) as [string, string];
    await fill(db, 2, { tenant: "held" });
    await register(db, "w");
    const held = await claimLanes(db, "w", [{ tenant: "held" }], 2);
    await db.query("update fairmill.job set crashes = 2, attempt = 2, lease_no = 2 where id = $1", [held[0]!.id]);
    await shift(due, "run_at", "-1 second");
    await shift(old, "expire_at", "-1 second");
    await endLease(db, "w");
    expect(await tick()).toEqual({
      promoted: 1,
      expired: 1,
      recovered: 1,
      ended: 1,
      removed: 0,
      next_in_ms: null,
      batches: [],
    });
    expect(await tick()).toEqual({
      promoted: 0,
      expired: 0,
      recovered: 0,
      ended: 0,
      removed: 0,
      next_in_ms: null,
      batches: [],
    });
  });

  test("B20: says when the next thing falls due: a scheduled job, a time to live, or the end of a lease, whichever is first", async () => {
    expect((await tick()).next_in_ms).toBeNull();
    const beganMs = performance.now();
    await register(db, "w", "40 seconds");
    const near = (actual: number | null, ms: number) => {
      expect(actual).toBeLessThanOrEqual(ms);
      expect(actual).toBeGreaterThanOrEqual(ms - (performance.now() - beganMs) - 1);
    };
    near((await tick()).next_in_ms, 40_000);
    await enqueueOne(db, { expire_ms: 30_000 });
    near((await tick()).next_in_ms, 30_000);
    await enqueueOne(db, { delay_ms: 20_000 });
    near((await tick()).next_in_ms, 20_000);
  });

  test("asks to be called again at once when a portion was full", async () => {
    const ids = (
      await enqueue(
        db,
        Array.from({ length: 3 }, () => ({ kind: "work", delay_ms: 60_000 })),
      )
    ).map(({ id }) => id);
    for (const id of ids) await shift(id, "run_at", "-1 second");
    expect(await tick("jobs_max => 2")).toMatchObject({ promoted: 2, next_in_ms: 0 });
    expect(await tick("jobs_max => 2")).toMatchObject({ promoted: 1, next_in_ms: null });
  });

  test("crashes_max and history_keep are passed on", async () => {
    // Yesterday's partition, if the day has just begun.
    await tick("history_keep => '0'");
    await fill(db, 1);
    await register(db, "w");
    await claimLanes(db, "w", [{ tenant: "default" }], 1);
    await endLease(db, "w");
    expect(await tick("crashes_max => 1")).toMatchObject({ recovered: 0, ended: 1 });
    await enqueueOne(db, { idempotency_key: "k" });
    await db.query("delete from fairmill.job");
    expect(await tick("history_keep => '1 hour'")).toMatchObject({ removed: 0 });
    expect(await tick("history_keep => '0'")).toMatchObject({ removed: 1 });
    expect(await db.query("select from fairmill.idempotency")).toEqual([]);
  });

  test("two at once do not wait for each other: partitions and retention are left to the one that came first", async () => {
    await enqueueOne(db, { idempotency_key: "k" });
    await db.query("delete from fairmill.job");
    const [a, b] = [await open(), await open()];
    await b.query("set lock_timeout = '2s'");
    await a.query("begin");
    await a.query("select fairmill.tick_upkeep_v1()");
    const [report] = await b.query<{ removed: number }>("select * from fairmill.tick_upkeep_v1(history_keep => '0')");
    expect(report!.removed).toBe(0);
    await a.query("commit");
    const [later] = await b.query<{ removed: number }>("select * from fairmill.tick_upkeep_v1(history_keep => '0')");
    expect(later!.removed).toBe(1);
  });
});
