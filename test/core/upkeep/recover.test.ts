// Recovery: the jobs of dead workers come back, those of living ones are left alone, and a job that kills its workers ends.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import {
  type Claimed,
  call,
  claimLanes,
  ended,
  endLease,
  enqueueOne,
  fill,
  live,
  recover,
  register,
  rescanNo,
  settle,
  traces,
} from "../../support/sql/calls.js";
import { useSessions } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

/** Jobs in the hands of a worker. */
async function held(worker: string, count = 1): Promise<Claimed[]> {
  await fill(db, count);
  await register(db, worker);
  return claimLanes(db, worker, [{ tenant: "default" }], count);
}

const workerState = async (worker: string) =>
  (await db.query<{ state: string }>("select state from fairmill.worker where id = $1", [worker]))[0]?.state;

describe("a dead worker's jobs", () => {
  test("A7: go back to the queue when its lease is over: the crash is counted and recorded, the attempt stays counted", async () => {
    const [job] = await held("w");
    const started = (await live(db, job!.id))!.started_at;
    await endLease(db, "w");
    expect(await recover(db)).toEqual({ recovered: 1, ended: 0 });
    const row = await live(db, job!.id);
    expect(row).toMatchObject({
      state: "ready",
      attempt: 1,
      crashes: 1,
      lease_no: claimNo(1),
      worker: null,
      started_at: null,
    });
    expect(row!.failures).toEqual([
      {
        attempt: 1,
        lease_no: claimNo(1),
        worker: "w",
        outcome: "crashed",
        started_at: expect.any(String),
        ended_at: expect.any(String),
        error: { code: "FAIRMILL_WORKER_LOST", message: "The worker w died while it ran this job." },
      },
    ]);
    expect(new Date((row!.failures![0] as unknown as { started_at: string }).started_at)).toEqual(started);
    expect(await workerState("w")).toBe("lost");
    expect(await db.query("select ended_at is not null and not listening as gone from fairmill.worker")).toEqual([
      { gone: true },
    ]);
  });

  test("A7: also come back when the worker's row is gone, or when it stopped without giving them back", async () => {
    const gone = await held("gone");
    await db.query("delete from fairmill.worker where id = 'gone'");
    const stopped = await held("stopped");
    await db.query("update fairmill.worker set state = 'stopped', ended_at = now() where id = 'stopped'");
    expect(await recover(db)).toEqual({ recovered: 2, ended: 0 });
    for (const { id } of [...gone, ...stopped])
      expect(await live(db, id)).toMatchObject({ state: "ready", crashes: 1 });
  });

  test("raise the rescan mark of their queues, so that workers forget their floors", async () => {
    const [job] = await held("w");
    const other = await enqueueOne(db, { queue: "other" });
    await claimLanes(db, "w", [{ tenant: "default", queue: "other" }], 1);
    await endLease(db, "w");
    const listener = await open();
    await listener.query("listen fairmill");
    await register(db, "sleeper");
    await call(db, "listening_v1('sleeper', true)");
    await recover(db);
    expect([await rescanNo(db, "default"), await rescanNo(db, "other")]).toEqual([1, 1]);
    await listener.query("select");
    expect(listener.notified).toEqual(["fairmill default"]);
    expect([(await live(db, job!.id))!.state, (await live(db, other))!.state]).toEqual(["ready", "ready"]);
  });

  test("are given back in portions, and a later call takes the rest", async () => {
    await held("w", 25);
    await endLease(db, "w");
    expect(await recover(db, 10)).toEqual({ recovered: 10, ended: 0 });
    expect(await recover(db, 10)).toEqual({ recovered: 10, ended: 0 });
    expect(await recover(db, 10)).toEqual({ recovered: 5, ended: 0 });
    expect(await recover(db, 10)).toEqual({ recovered: 0, ended: 0 });
    expect(await db.query("select distinct state, crashes from fairmill.job")).toEqual([
      { state: "ready", crashes: 1 },
    ]);
  });

  test("of many dead workers all come back, between living ones", async () => {
    for (let n = 0; n < 12; n++) await held(`w${n}`, 3);
    await db.query(
      "update fairmill.worker set lease_until = now() - interval '1 second' where right(id, 1)::integer % 2 = 0",
    );
    expect(await recover(db)).toEqual({ recovered: 18, ended: 0 });
    const left = await db.query<{ worker: string }>(
      "select distinct worker from fairmill.job where state = 'running' order by 1",
    );
    expect(left.map(({ worker }) => worker)).toEqual(["w1", "w11", "w3", "w5", "w7", "w9"]);
  });

  test("one that it had given back, and that a living worker runs now, is left alone", async () => {
    const [job] = await held("w");
    await settle(db, "w", [job!], "release");
    await register(db, "other");
    const [again] = await claimLanes(db, "other", [{ tenant: "default" }], 1);
    expect(again!.id).toBe(job!.id);
    await endLease(db, "w");
    expect(await recover(db)).toEqual({ recovered: 0, ended: 0 });
    expect(await live(db, job!.id)).toMatchObject({ state: "running", worker: "other", crashes: 0 });
    expect(await settle(db, "other", [again!], "done")).toMatchObject({ accepted: 1 });
  });

  test("I5: nothing is left running without a living worker", async () => {
    await held("w", 3);
    await endLease(db, "w");
    await db.query("select fairmill.tick_upkeep_v1()");
    expect(
      await db.query(
        "select from fairmill.job j where state = 'running' and not exists (select from fairmill.worker w where w.id = j.worker and w.state = 'alive' and w.lease_until > now())",
      ),
    ).toEqual([]);
  });
});

describe("a living worker's jobs", () => {
  test("are left alone while its lease lasts, however often recovery runs", async () => {
    const jobs = await held("w", 3);
    const before = await traces(db);
    for (let n = 0; n < 3; n++) expect(await recover(db)).toEqual({ recovered: 0, ended: 0 });
    expect(await traces(db)).toEqual(before);
    expect((await settle(db, "w", jobs, "done")).accepted).toBe(3);
  });

  test("are left alone when a heartbeat is under way at that moment, and kept once it is through", async () => {
    await held("w");
    await endLease(db, "w");
    const beat = await open();
    await beat.query("begin");
    expect(await beat.query("select * from fairmill.heartbeat_v1('w', '1 hour')")).toEqual([
      { alive: true, cancelled: [] },
    ]);
    expect(await recover(db)).toEqual({ recovered: 0, ended: 0 });
    await beat.query("commit");
    expect(await recover(db)).toEqual({ recovered: 0, ended: 0 });
    expect(await workerState("w")).toBe("alive");
  });

  test("a heartbeat prolongs the lease by the database's clock, keeps the figures, and names the jobs to cancel", async () => {
    const [a, b] = await held("w", 2);
    await call(db, "cancel_v1($1)", [b!.id]);
    await db.query("select fairmill.heartbeat_v1('w', '1 hour', '{\"cpu\": 0.5}')");
    expect(await db.query("select * from fairmill.heartbeat_v1('w', '2 hours')")).toEqual([
      { alive: true, cancelled: [b!.id] },
    ]);
    const [row] = await db.query<{ ms: number; stats: unknown }>(
      "select extract(epoch from lease_until - beat_at)::float8 * 1000 as ms, stats from fairmill.worker where id = 'w'",
    );
    expect(row!.stats).toEqual({ cpu: 0.5 });
    expect(row!.ms).toBeGreaterThan(7_199_000);
    expect(row!.ms).toBeLessThan(7_201_000);
    expect(await live(db, a!.id)).toMatchObject({ state: "running" });
  });

  test("a worker that was declared lost is told so by its next heartbeat and cannot come back under its name", async () => {
    await held("w");
    await endLease(db, "w");
    await recover(db);
    expect(await db.query("select alive from fairmill.heartbeat_v1('w', '1 hour')")).toEqual([{ alive: false }]);
    expect(await workerState("w")).toBe("lost");
    await expect(register(db, "w")).rejects.toMatchObject({ code: "23505" });
    expect(await db.query("select alive from fairmill.heartbeat_v1('nobody')")).toEqual([{ alive: false }]);
  });
});

describe("several at once", () => {
  test("two that recover at the same time give each job back once, and neither waits for the other", async () => {
    const known = await held("known", 5);
    await endLease(db, "known");
    const unknown = await held("unknown", 5);
    await db.query("delete from fairmill.worker where id = 'unknown'");
    const [a, b] = [await open(), await open()];
    await b.query("set lock_timeout = '2s'");
    await a.query("begin");
    expect(await recover(a)).toEqual({ recovered: 10, ended: 0 });
    expect(await recover(b)).toEqual({ recovered: 0, ended: 0 });
    await a.query("commit");
    expect(await recover(b)).toEqual({ recovered: 0, ended: 0 });
    for (const { id } of [...known, ...unknown]) {
      const row = await live(db, id);
      expect(row).toMatchObject({ crashes: 1 });
      expect(row!.failures).toHaveLength(1);
    }
  });

  test("eight that recover at once with 400 jobs of 20 dead workers count each crash once", async () => {
    for (let n = 0; n < 20; n++) await held(`w${n}`, 20);
    await db.query("update fairmill.worker set lease_until = now() - interval '1 second'");
    const sessions = await Promise.all(Array.from({ length: 8 }, () => open()));
    const counts = await Promise.all(
      sessions.map(async (session) => {
        let recovered = 0;
        while ((await session.query("select from fairmill.job where state = 'running' limit 1")).length > 0)
          recovered += (await recover(session, 30)).recovered;
        return recovered;
      }),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(400);
    expect(
      await db.query("select distinct crashes, jsonb_array_length(failures) as failures from fairmill.job"),
    ).toEqual([{ crashes: 1, failures: 1 }]);
  });

  test("a job that is being settled is stepped over; when that settle is rolled back, a later call takes the job", async () => {
    const [job] = await held("w");
    await endLease(db, "w");
    const settler = await open();
    await settler.query("begin");
    await settle(settler, "w", [job!], "done");
    expect(await recover(db)).toEqual({ recovered: 0, ended: 0 });
    await settler.query("rollback");
    expect(await recover(db)).toEqual({ recovered: 1, ended: 0 });
  });
});

describe("jobs that do not go back", () => {
  test("a job whose workers died crashes_max times is poison and ends as dead, with every crash on record", async () => {
    const id = await enqueueOne(db, { max_attempts: 1 });
    for (let n = 1; n <= 3; n++) {
      await register(db, `w${n}`);
      const [job] = await claimLanes(db, `w${n}`, [{ tenant: "default" }], 1);
      expect(job).toMatchObject({ id, attempt: n, crashes: n - 1, lease_no: claimNo(n) });
      await endLease(db, `w${n}`);
      expect(await recover(db, 1000, 3)).toEqual(n < 3 ? { recovered: 1, ended: 0 } : { recovered: 0, ended: 1 });
    }
    const end = await ended(db, id);
    expect(end).toMatchObject({
      state: "dead",
      attempt: 3,
      crashes: 3,
      lease_no: claimNo(3),
      worker: "w3",
      error: { code: "FAIRMILL_POISON" },
    });
    expect(end!.failures).toMatchObject([
      { lease_no: claimNo(1), worker: "w1", outcome: "crashed" },
      { lease_no: claimNo(2), worker: "w2", outcome: "crashed" },
      { lease_no: claimNo(3), worker: "w3", outcome: "crashed" },
    ]);
    expect(end!.started_at).not.toBeNull();
    expect(await live(db, id)).toBeUndefined();
  });

  test("F5: a job with a cancel request ends as cancelled instead of running again", async () => {
    const [asked, other] = await held("w", 2);
    await call(db, "cancel_v1($1)", [asked!.id]);
    await endLease(db, "w");
    expect(await recover(db)).toEqual({ recovered: 1, ended: 1 });
    expect(await ended(db, asked!.id)).toMatchObject({ state: "cancelled", crashes: 1, worker: "w", error: null });
    expect((await ended(db, asked!.id))!.failures).toMatchObject([{ outcome: "crashed", lease_no: claimNo(1) }]);
    expect(await live(db, other!.id)).toMatchObject({ state: "ready" });
  });

  test("poison, cancelled and innocent jobs of one worker are told apart in one call", async () => {
    const jobs = await held("w", 6);
    await db.query("update fairmill.job set crashes = 2, attempt = 3, lease_no = 3 where id = any ($1)", [
      jobs.slice(0, 2).map(({ id }) => id),
    ]);
    for (const { id } of jobs.slice(2, 4)) await call(db, "cancel_v1($1)", [id]);
    await endLease(db, "w");
    expect(await recover(db)).toEqual({ recovered: 2, ended: 4 });
    const states = await Promise.all(
      jobs.map(async ({ id }) => (await live(db, id))?.state ?? (await ended(db, id))?.state),
    );
    expect(states).toEqual(["dead", "dead", "cancelled", "cancelled", "ready", "ready"]);
  });
});
