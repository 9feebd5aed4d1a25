// Lists of what workers hold: where recovery looks for the jobs of the dead, and caps for what runs. And why there are lists: a claim changes
// nothing that an index knows of.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import { claimLanes, endLease, fill, live, recover, register, setLimits, settle } from "../../support/sql/calls.js";
import { useSessions } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

/** The statement of a worker that numbers its lists. */
const CLAIM = `select id, lease_no from fairmill.claim_lanes_v1($1, '{default}', '{0}', '{default}', '{0}', array[$2::integer], null, $2, list_no => $3)
  where id is not null`;

interface Held {
  readonly id: string;
  readonly lease_no: string;
}

const claimInto = (ask: Pick<typeof db, "query">, worker: string, count: number, no: number) =>
  ask.query<Held>(CLAIM, [worker, count, no]);

const lists = (worker: string) =>
  db.query<{ no: string; ids: string[] }>(
    "select list_no as no, ids from fairmill.claim_list where worker = $1 order by list_no",
    [worker],
  );

const heldBy = async (tenant: string) =>
  (
    await db.query<{ running_ids: string[] | null }>(
      "select running_ids from fairmill.meter where scope = 'tenant' and name = $1",
      [tenant],
    )
  )[0]?.running_ids;

describe("a heap-only claim", () => {
  test("no index of live jobs knows a column that every claim changes", async () => {
    const knowing = await db.query(
      `select i.indexrelid::regclass::text as index, a.attname as column
       from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attname in ('state', 'worker', 'lease_no', 'attempt', 'started_at')
       where i.indrelid = 'fairmill.job'::regclass
         and (a.attnum = any (i.indkey) or concat(pg_get_expr(i.indpred, i.indrelid), pg_get_expr(i.indexprs, i.indrelid)) ~ ('\\m' || a.attname || '\\M'))`,
    );
    expect(knowing).toEqual([]);
  });

  test("writes each job beside itself: no entry into any index, also where the job has a key and a tenant a cap", async () => {
    await register(db, "w");
    await setLimits(db, "tenant", "default", { max_running: 1_000 });
    await fill(db, 200);
    const session = await open();
    await session.query("begin");
    expect(await claimInto(session, "w", 200, 1)).toHaveLength(200);
    const [updates] = await session.query(
      "select pg_stat_get_xact_tuples_updated(c) as all, pg_stat_get_xact_tuples_hot_updated(c) as heap_only from (select 'fairmill.job'::regclass as c) j",
    );
    await session.query("rollback");
    expect(updates).toEqual({ all: "200", heap_only: "200" });
  });
});

describe("the list of a claim", () => {
  test("names what was claimed; with the same number it is written over, with another it stays", async () => {
    await register(db, "w");
    await fill(db, 6);
    const first = await claimInto(db, "w", 2, 1);
    const second = await claimInto(db, "w", 2, 2);
    expect(await lists("w")).toEqual([
      { no: "1", ids: first.map(({ id }) => id) },
      { no: "2", ids: second.map(({ id }) => id) },
    ]);
    await settle(db, "w", first, "done");
    const third = await claimInto(db, "w", 2, 1);
    expect((await lists("w"))[0]).toEqual({ no: "1", ids: third.map(({ id }) => id) });
    await claimInto(db, "w", 2, 3);
    expect(await lists("w")).toHaveLength(2);
  });

  test("of a worker that keeps no account is removed when nothing of it is held; two claims of one transaction share one", async () => {
    await register(db, "w");
    await fill(db, 5);
    const [done] = await claimLanes(db, "w", [{ tenant: "default" }], 1);
    await claimLanes(db, "w", [{ tenant: "default" }], 1);
    expect(await lists("w")).toHaveLength(2);
    await settle(db, "w", [done!], "done");
    const session = await open();
    await session.query("begin");
    const [third] = await claimLanes(session, "w", [{ tenant: "default" }], 1);
    const [fourth] = await claimLanes(session, "w", [{ tenant: "default" }], 1);
    await session.query("commit");
    const left = await lists("w");
    expect(left).toHaveLength(2);
    expect(left.map(({ ids }) => ids)).toContainEqual([third!.id, fourth!.id]);
    expect(left.flatMap(({ ids }) => ids)).not.toContain(done!.id);
  });

  test("A7: outlives its worker until the last of its jobs is back: one that another session has locked is found later", async () => {
    await register(db, "w");
    await fill(db, 3);
    const jobs = await claimInto(db, "w", 3, 1);
    await endLease(db, "w");
    const session = await open();
    await session.query("begin");
    await session.query("select from fairmill.job where id = $1 for update", [jobs[1]!.id]);
    expect(await recover(db)).toMatchObject({ recovered: 2 });
    expect(await recover(db)).toMatchObject({ recovered: 0 });
    await session.query("rollback");
    expect(await recover(db)).toMatchObject({ recovered: 1 });
    expect(await live(db, jobs[1]!.id)).toMatchObject({ state: "ready", crashes: 1 });
    expect(await lists("w")).toEqual([]);
  });

  test("A7: a claim that commits after its worker was declared dead is found, though it wrote over an old list", async () => {
    await register(db, "w");
    await fill(db, 2);
    const [old] = await claimInto(db, "w", 1, 1);
    await settle(db, "w", [old!], "done");
    const session = await open();
    await session.query("begin");
    const [late] = await claimInto(session, "w", 1, 1);
    await endLease(db, "w");
    expect(await recover(db)).toMatchObject({ recovered: 0 });
    await session.query("commit");
    expect(await live(db, late!.id)).toMatchObject({ state: "running", worker: "w" });
    expect(await recover(db)).toMatchObject({ recovered: 1 });
    expect(await live(db, late!.id)).toMatchObject({ state: "ready", crashes: 1 });
  });

  test("A7: a job that is in two lists of the dead worker, because it was given back and claimed again, comes back once", async () => {
    await register(db, "w");
    await fill(db, 1);
    const [job] = await claimInto(db, "w", 1, 1);
    await settle(db, "w", [job!], "release");
    await claimInto(db, "w", 1, 2);
    expect(await lists("w")).toHaveLength(2);
    await endLease(db, "w");
    expect(await recover(db)).toEqual({ recovered: 1, ended: 0 });
    expect(await live(db, job!.id)).toMatchObject({ state: "ready", crashes: 1, lease_no: claimNo(2) });
  });

  test("is not believed: a job that another worker runs by now is left alone", async () => {
    await register(db, "w");
    await register(db, "other");
    await fill(db, 1);
    const [job] = await claimInto(db, "w", 1, 1);
    await settle(db, "w", [job!], "release");
    await claimInto(db, "other", 1, 1);
    await endLease(db, "w");
    expect(await recover(db)).toEqual({ recovered: 0, ended: 0 });
    expect(await live(db, job!.id)).toMatchObject({ state: "running", worker: "other", lease_no: claimNo(2) });
    expect(await lists("w")).toEqual([]);
    expect(await lists("other")).toHaveLength(1);
  });
});

describe("the list of a cap", () => {
  test("I6: holds what was claimed under it, and is gone through when it leaves too little room: who runs stays in it", async () => {
    await register(db, "w");
    await setLimits(db, "tenant", "default", { max_running: 4 });
    await fill(db, 20);
    const first = await claimInto(db, "w", 2, 1);
    expect(await heldBy("default")).toEqual(first.map(({ id }) => id));
    await settle(db, "w", [first[0]!], "done");
    // One of two runs: three may start, not two, and not four.
    const second = await claimInto(db, "w", 10, 2);
    expect(second).toHaveLength(3);
    expect(await heldBy("default")).toEqual([first[1]!.id, ...second.map(({ id }) => id)]);
    expect(await claimInto(db, "w", 10, 3)).toEqual([]);
    // Who waits again is alive and does not run.
    await settle(db, "w", [second[0]!], "snooze", [{ delay_ms: 3_600_000 }]);
    expect(await claimInto(db, "w", 10, 3)).toHaveLength(1);
  });

  test("I6: a claim that takes just what the list leaves is not told that the cap is reached while there is room", async () => {
    await register(db, "w");
    await setLimits(db, "tenant", "default", { max_running: 4 });
    await fill(db, 20);
    const first = await claimInto(db, "w", 2, 1);
    await settle(db, "w", [first[0]!], "done");
    const told = await db.query(CLAIM.replace("where id is not null", ""), ["w", 2, 2]);
    expect(told.map(({ id }) => id)).toEqual([expect.any(String), expect.any(String)]);
    expect(await claimInto(db, "w", 2, 3)).toHaveLength(1);
  });

  test("P7: setting a cap waits for no meter but its own, though jobs run that a cap of their queue does not know yet", async () => {
    await register(db, "w");
    await fill(db, 1);
    await claimInto(db, "w", 1, 1);
    await db.query("insert into fairmill.limit_setting (scope, name, max_running) values ('queue', 'default', 5)");
    const claimer = await open();
    await claimer.query("begin");
    await claimer.query("select fairmill.lock_meters('start', 'queue', '{default}')");
    const session = await open();
    await session.query("set lock_timeout = '2s'");
    await setLimits(session, "tenant", "default", { max_running: 5 });
    expect(await heldBy("default")).toHaveLength(1);
    await claimer.query("rollback");
    expect(await db.query("select fairmill.count_running() as missed")).toEqual([{ missed: 1 }]);
  });

  test("a claim that uses a meter which was idle for long keeps retention from removing it, though retention began before", async () => {
    await register(db, "w");
    await setLimits(db, "tenant", "default", { max_running: 1 });
    await fill(db, 2);
    await db.query("select fairmill.lock_meters('start', 'tenant', '{default}')");
    await db.query("update fairmill.meter set used_at = now() - interval '3 days'");
    const session = await open();
    await session.query("begin");
    expect(await claimInto(session, "w", 1, 1)).toHaveLength(1);
    await db.query("select fairmill.retention()");
    await session.query("commit");
    const [meter] = await db.query(
      "select used_at > now() - interval '2 hours' as is_used from fairmill.meter where scope = 'tenant'",
    );
    expect(meter).toEqual({ is_used: true });
    expect(await claimInto(db, "w", 1, 2)).toEqual([]);
  });

  test("stays while one of it runs, however long its meter was not used", async () => {
    await register(db, "w");
    await setLimits(db, "tenant", "default", { max_running: 1 });
    await fill(db, 2);
    const [job] = await claimInto(db, "w", 1, 1);
    await db.query("update fairmill.meter set used_at = now() - interval '3 days'");
    await db.query("select fairmill.retention()");
    expect(await claimInto(db, "w", 1, 2)).toEqual([]);
    await settle(db, "w", [job!], "done");
    await db.query("select fairmill.retention()");
    expect(await heldBy("default")).toBeUndefined();
    expect(await claimInto(db, "w", 1, 2)).toHaveLength(1);
  });
});
