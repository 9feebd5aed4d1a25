// Time: what is due later, what falls due, and what waited too long. All of it by the database's clock.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import {
  block,
  call,
  claimLanes,
  ended,
  enqueue,
  enqueueOne,
  live,
  register,
  rescanNo,
  settle,
} from "../support/sql/calls.js";
import { useSessions } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const promote = (jobsMax = 1000) => call<number>(db, "promote_v1($1)", [jobsMax]);
const expire = (jobsMax = 1000) => call<number>(db, "expire_v1($1)", [jobsMax]);

/** Moves a time of the job: tests do not wait, they change what is waited for. */
const shift = (id: string, column: "run_at" | "expire_at", by: string) =>
  db.query(`update fairmill.job set ${column} = clock_timestamp() + $2::interval where id = $1`, [id, by]);

describe("delay and run_at", () => {
  test("a delay counts from the transaction's time, to the millisecond", async () => {
    const id = await enqueueOne(db, { delay_ms: 1_500 });
    const row = await live(db, id);
    expect(row).toMatchObject({ state: "scheduled", worker: null });
    expect(row!.run_at!.getTime() - row!.created_at.getTime()).toBe(1_500);
  });

  test("a run_at in the future schedules, one in the past or no delay at all makes the job ready at once", async () => {
    const future = "2999-12-31T23:59:59.999Z";
    const [later, past, zero, negative] = await enqueue(db, [
      { kind: "work", run_at: future },
      { kind: "work", run_at: "2001-01-01T00:00:00Z" },
      { kind: "work", delay_ms: 0 },
      { kind: "work", delay_ms: -5 },
    ]);
    expect(await live(db, later!.id)).toMatchObject({ state: "scheduled", run_at: new Date(future) });
    for (const job of [past, zero, negative]) expect(await live(db, job!.id)).toMatchObject({ state: "ready" });
  });

  test("run_at goes before delay, and is an instant whatever the session's time zone is", async () => {
    const session = await open();
    await session.query("set timezone = 'Asia/Kathmandu'");
    const id = await enqueueOne(session, { run_at: "2999-01-01T12:00:00+02:00", delay_ms: 5 });
    expect((await live(db, id))!.run_at).toEqual(new Date("2999-01-01T10:00:00Z"));
    const plain = await session.query<{ id: string }>(
      "select id from fairmill.enqueue_v1('work', run_at => '2999-01-01 12:00+00', delay => '1 hour')",
    );
    expect((await live(db, plain[0]!.id))!.run_at).toEqual(new Date("2999-01-01T12:00:00Z"));
  });
});

describe("promotion", () => {
  test("B6: what is due becomes ready, what is not stays, and the rescan mark of its queue is raised", async () => {
    const due = await enqueueOne(db, { delay_ms: 60_000 });
    const other = await enqueueOne(db, { delay_ms: 60_000, queue: "other" });
    const later = await enqueueOne(db, { delay_ms: 60_000 });
    expect(await promote()).toBe(0);
    expect(await rescanNo(db)).toBe(0);
    await shift(due, "run_at", "-1 millisecond");
    await shift(other, "run_at", "-1 hour");
    expect(await promote()).toBe(2);
    expect(await live(db, due)).toMatchObject({ state: "ready", attempt: 0 });
    expect(await live(db, later)).toMatchObject({ state: "scheduled" });
    expect([await rescanNo(db), await rescanNo(db, "other")]).toEqual([1, 1]);
    expect(await promote()).toBe(0);
    expect(await rescanNo(db)).toBe(1);
  });

  test("the longest due go first, in portions", async () => {
    const ids = (
      await enqueue(
        db,
        Array.from({ length: 5 }, () => ({ kind: "work", delay_ms: 60_000 })),
      )
    ).map(({ id }) => id);
    for (const [n, id] of ids.entries()) await shift(id, "run_at", `-${n + 1} seconds`);
    expect(await promote(2)).toBe(2);
    expect(await Promise.all(ids.map(async (id) => (await live(db, id))!.state))).toEqual([
      "scheduled",
      "scheduled",
      "scheduled",
      "ready",
      "ready",
    ]);
    expect(await promote(10)).toBe(3);
  });

  test("jobs that another session has locked are skipped", async () => {
    const [a, b] = (
      await enqueue(
        db,
        Array.from({ length: 2 }, () => ({ kind: "work", delay_ms: 60_000 })),
      )
    ).map(({ id }) => id) as [string, string];
    await shift(a, "run_at", "-2 seconds");
    await shift(b, "run_at", "-1 second");
    const session = await open();
    await session.query("begin");
    await call(session, "cancel_v1($1)", [a]);
    expect(await promote()).toBe(1);
    await session.query("rollback");
    expect(await promote()).toBe(1);
  });

  test("sleeping workers are told", async () => {
    await register(db, "w");
    await call(db, "listening_v1('w', true)");
    const listener = await open();
    await listener.query("listen fairmill");
    const id = await enqueueOne(db, { delay_ms: 60_000 });
    await shift(id, "run_at", "-1 second");
    await promote();
    await listener.query("select");
    expect(listener.notified).toEqual(["fairmill default"]);
  });

  test("A4: a promoted job lies above every floor, behind what was ready before it and before what comes later", async () => {
    const old = await enqueueOne(db, { delay_ms: 60_000 });
    const young = await enqueueOne(db);
    expect(await claimLanes(db, "w", [{ tenant: "default" }], 10)).toMatchObject([{ id: young }]);
    await shift(old, "run_at", "-1 second");
    await promote();
    const later = await enqueueOne(db);
    expect(await claimLanes(db, "w", [{ tenant: "default", floor: young }], 1)).toMatchObject([
      { id: old, attempt: 1 },
    ]);
    expect(await claimLanes(db, "w", [{ tenant: "default", floor: young }], 10)).toMatchObject([{ id: later }]);
  });
});

describe("time to live", () => {
  test("it counts from the moment the job is due", async () => {
    const [now, later] = await enqueue(db, [
      { kind: "work", expire_ms: 5_000 },
      { kind: "work", expire_ms: 5_000, delay_ms: 60_000 },
    ]);
    const [a, b] = [await live(db, now!.id), await live(db, later!.id)];
    expect(a!.expire_at!.getTime() - a!.created_at.getTime()).toBe(5_000);
    expect(b!.expire_at!.getTime() - b!.created_at.getTime()).toBe(65_000);
  });

  test("B6: what waited too long ends as dead and says why, whether it was ready, scheduled or blocked", async () => {
    const ids = (
      await enqueue(
        db,
        Array.from({ length: 4 }, () => ({ kind: "work", expire_ms: 60_000 })),
      )
    ).map(({ id }) => id) as [string, string, string, string];
    const [ready, scheduled, blocked, young] = ids;
    await db.query(
      "update fairmill.job set state = 'scheduled', aside = 'scheduled', run_at = now() + interval '1 hour' where id = $1",
      [scheduled],
    );
    await block(db, blocked);
    expect(await expire()).toBe(0);
    for (const id of [ready, scheduled, blocked]) await shift(id, "expire_at", "-1 millisecond");
    expect(await expire()).toBe(3);
    for (const id of [ready, scheduled, blocked])
      expect(await ended(db, id)).toMatchObject({
        state: "dead",
        attempt: 0,
        worker: null,
        failures: null,
        error: { code: "FAIRMILL_EXPIRED", message: "The job waited longer than its time to live." },
      });
    expect(await live(db, young)).toMatchObject({ state: "ready" });
  });

  test("a running job does not expire, however late it is", async () => {
    const id = await enqueueOne(db, { expire_ms: 60_000 });
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 1);
    await shift(id, "expire_at", "-1 hour");
    expect(await expire()).toBe(0);
    expect((await settle(db, "w", jobs, "done")).accepted).toBe(1);
  });

  test("the oldest go first, in portions, and what another session has locked is skipped", async () => {
    const ids = (
      await enqueue(
        db,
        Array.from({ length: 4 }, () => ({ kind: "work", expire_ms: 60_000 })),
      )
    ).map(({ id }) => id) as [string, string, string, string];
    for (const [n, id] of ids.entries()) await shift(id, "expire_at", `-${n + 1} seconds`);
    const session = await open();
    await session.query("begin");
    await claimAnyway(session, ids[3]);
    expect(await expire(2)).toBe(2);
    expect(await Promise.all(ids.map(async (id) => (await live(db, id)) !== undefined))).toEqual([
      true,
      false,
      false,
      true,
    ]);
    await session.query("rollback");
    expect(await expire(10)).toBe(2);
  });

  const claimAnyway = (session: { query(text: string, values: unknown[]): Promise<unknown> }, id: string) =>
    session.query("select from fairmill.job where id = $1 for update", [id]);
});
