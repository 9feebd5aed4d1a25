// F4, unique keys when several meet: the job with the key ends, starts or is cancelled in the very moment of the question.
import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { call, claim, enqueueUnique, live, type Met, type NewRow, register, settle } from "../../support/sql/calls.js";
import { errorCode, type Session, useSessions, waitUntilBlocked } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const stored = async () => Number((await db.query<{ n: string }>("select count(*) as n from fairmill.job"))[0]!.n);
const job = (rule: NewRow, payload: unknown = "first"): NewRow => ({ kind: "work", unique_key: "k", payload, ...rule });
const one = async (ask: Session | typeof db, rule: NewRow, payload?: unknown): Promise<Met> =>
  (await enqueueUnique(ask, [job(rule, payload)]))[0]!;

const UNTIL: readonly [string, NewRow][] = [
  ["until started", { unique_until: "started" }],
  ["until settled", { unique_until: "settled" }],
  ["for a period", { unique_for_ms: 60_000 }],
];

describe.each(UNTIL)("two transactions with one key, %s", (_, rule) => {
  test("the second waits for the first, and gets its job after the commit", async () => {
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    const first = await one(a, rule);
    const second = one(b, rule, "second");
    await waitUntilBlocked(db, b);
    await a.query("commit");
    expect(await second).toEqual({ id: first.id, created: false, conflict: "kept" });
    expect(await stored()).toBe(1);
  });

  test("the second owns the key when the first rolls back", async () => {
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    await one(a, rule);
    const second = one(b, rule, "second");
    await waitUntilBlocked(db, b);
    await a.query("rollback");
    const made = await second;
    expect(made).toMatchObject({ created: true, conflict: null });
    expect(await db.query("select id, payload from fairmill.job")).toEqual([{ id: made.id, payload: "second" }]);
  });

  test("of those who replace, the one that commits last wins", async () => {
    const [a, b] = [await open(), await open()];
    const first = await one(db, { ...rule, on_conflict: "replace", delay_ms: 60_000 }, "first");
    await a.query("begin");
    expect((await one(a, { ...rule, on_conflict: "replace", delay_ms: 60_000 }, "a")).conflict).toBe("replaced");
    const second = one(b, { ...rule, on_conflict: "replace", delay_ms: 60_000 }, "b");
    await waitUntilBlocked(db, b);
    await a.query("commit");
    expect(await second).toEqual({ id: first.id, created: false, conflict: "replaced" });
    expect(await live(db, first.id)).toMatchObject({ payload: "b" });
  });

  test("keeping locks nothing: a transaction that was answered does not hold up the job's end or others who ask", async () => {
    const first = await one(db, rule);
    await register(db, "w");
    const claimed = await claim(db, "w");
    const [asker, worker] = [await open(), await open()];
    await worker.query("set lock_timeout = '2s'");
    await asker.query("begin");
    if (rule["unique_until"] !== "started") {
      expect((await one(asker, { ...rule, on_conflict: "keep" })).id).toBe(first.id);
      expect((await one(asker, { ...rule, on_conflict: "replace" })).id).toBe(first.id);
      expect((await one(worker, rule)).id).toBe(first.id);
    }
    expect(await settle(worker, "w", claimed, "done")).toEqual({ accepted: 1, refused: [] });
    await asker.query("rollback");
  });
});

describe("the job with the key leaves while a second one asks", () => {
  /** What may happen to the first job, and the second one's answer when that commits: made anew, or the first one's. */
  const ENDS: readonly [string, NewRow, (session: Session, id: string) => Promise<unknown>, string | null][] = [
    ["is cancelled", {}, (session, id) => call(session, "cancel_v1($1)", [id]), null],
    ["waited too long", { expire_ms: 0 }, (session) => call(session, "expire_v1()"), null],
    ["starts, and the key holds until then", { unique_until: "started" }, (session) => claim(session, "w"), null],
    [
      "starts and comes back to the queue, and the key held until the start",
      { unique_until: "started" },
      async (session) => settle(session, "w", await claim(session, "w"), "release"),
      null,
    ],
    ["starts, and the key holds until its end", { unique_until: "settled" }, (session) => claim(session, "w"), "kept"],
  ];

  test.each(ENDS)("it %s: waits for the outcome, commit", async (_, rule, leave, conflict) => {
    await register(db, "w");
    const first = await one(db, rule);
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    await leave(a, first.id);
    const second = one(b, { ...rule, on_conflict: "keep" });
    await waitUntilBlocked(db, b);
    await a.query("commit");
    expect((await second).conflict).toBe(conflict);
    expect((await second).created).toBe(conflict === null);
  });

  test.each(ENDS)("it %s: waits for the outcome, rollback", async (_, rule, leave) => {
    await register(db, "w");
    const first = await one(db, rule);
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    await leave(a, first.id);
    const second = one(b, { ...rule, on_conflict: "keep" });
    await waitUntilBlocked(db, b);
    await a.query("rollback");
    expect(await second).toEqual({ id: first.id, created: false, conflict: "kept" });
  });

  test.each(ENDS)("it %s between the look and the replacement", async (_, rule, leave, conflict) => {
    await register(db, "w");
    const first = await one(db, rule);
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    // A lock alone is no reason to wait for the insert, which sees the key taken; the replacement waits for it.
    await a.query("select from fairmill.job where id = $1 for update", [first.id]);
    const second = one(b, { ...rule, on_conflict: "replace" }, "second");
    await waitUntilBlocked(db, b);
    await leave(a, first.id);
    await a.query("commit");
    const answer = await second;
    expect(answer.conflict).toBe(conflict);
    expect(answer.id === first.id).toBe(conflict !== null);
    if (conflict) expect(await live(db, first.id)).toMatchObject({ payload: "first", state: "running" });
    else expect(await live(db, answer.id)).toMatchObject({ payload: "second" });
  });

  test("a running job is settled: the second one waits for the outcome", async () => {
    for (const outcome of ["rollback", "commit"]) {
      await db.query("delete from fairmill.job");
      await db.query("delete from fairmill.worker");
      await register(db, "w");
      const first = await one(db, {});
      const claimed = await claim(db, "w");
      const [a, b] = [await open(), await open()];
      await a.query("begin");
      await settle(a, "w", claimed, "done");
      const second = one(b, { on_conflict: "replace" }, "second");
      await waitUntilBlocked(db, b);
      await a.query(outcome);
      expect((await second).created).toBe(outcome === "commit");
      expect((await second).id === first.id).toBe(outcome === "rollback");
    }
  });
});

describe("between the insert that found the key taken and the question whose it is", () => {
  /** Every insert into this table holds still after it was done, until the test lets go. */
  async function holdAfterInsert(table: string): Promise<void> {
    await db.query(`create function public.hold() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(42); return null; end $$;
      create trigger hold after insert on fairmill.${table} for each statement execute function public.hold()`);
  }
  afterEach(() => db.query("drop function if exists public.hold() cascade"));

  test.each(["cancelled", "started"])("the job is %s: the key is free, and the second is made", async (what) => {
    await register(db, "w");
    const rule = { unique_until: "started" };
    const first = await one(db, rule);
    await holdAfterInsert("job");
    const [gate, caller] = [await open(), await open()];
    await gate.query("select pg_advisory_lock(42)");
    const second = one(caller, rule, "second");
    await waitUntilBlocked(db, caller);
    if (what === "cancelled") await call(db, "cancel_v1($1)", [first.id]);
    else await claim(db, "w");
    await gate.query("select pg_advisory_unlock(42)");
    const made = await second;
    expect(made.created).toBe(true);
    expect(await live(db, made.id)).toMatchObject({ payload: "second", state: "ready" });
  });

  test("the period ends and retention removes it: the second job has the next one", async () => {
    const rule = { unique_for_ms: 60_000 };
    await one(db, rule);
    await holdAfterInsert("unique_period");
    const [gate, caller] = [await open(), await open()];
    await gate.query("select pg_advisory_lock(42)");
    const second = one(caller, rule, "second");
    await waitUntilBlocked(db, caller);
    await db.query("update fairmill.unique_period set expires_at = clock_timestamp()");
    expect(await call(db, "retention()")).toBe(1);
    await gate.query("select pg_advisory_unlock(42)");
    const made = await second;
    expect(made.created).toBe(true);
    expect(await db.query("select job_id from fairmill.unique_period")).toEqual([{ job_id: made.id }]);
  });
});

test("of two who find a period over, one owns the next, and the other gets its job or, when it rolls back, the period", async () => {
  for (const outcome of ["commit", "rollback"]) {
    await db.query("delete from fairmill.unique_period");
    await one(db, { unique_for_ms: 1 });
    await db.query("update fairmill.unique_period set expires_at = clock_timestamp()");
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    const first = await one(a, { unique_for_ms: 60_000 });
    expect(first.created).toBe(true);
    const second = one(b, { unique_for_ms: 60_000 });
    await waitUntilBlocked(db, b);
    await a.query(outcome);
    expect((await second).created).toBe(outcome === "rollback");
    expect((await second).id === first.id).toBe(outcome === "commit");
  }
});

test("a period that was over at the look and is taken before it can be, is the other's", async () => {
  const rule = { unique_for_ms: 60_000 };
  const first = await one(db, rule);
  await db.query("update fairmill.unique_period set expires_at = clock_timestamp()");
  const [a, b] = [await open(), await open()];
  await a.query("begin");
  // A lock alone is no reason to wait for the insert and the look; the taking waits for it.
  await a.query("select from fairmill.unique_period for update");
  const second = one(b, rule);
  await waitUntilBlocked(db, b);
  await a.query("update fairmill.unique_period set expires_at = clock_timestamp() + interval '1 hour'");
  await a.query("commit");
  expect(await second).toEqual({ id: first.id, created: false, conflict: "kept" });
});

test("a REPEATABLE READ caller is told to try again when the key was taken after its snapshot", async () => {
  const session = await open();
  await session.query("begin isolation level repeatable read");
  await session.query("select from fairmill.job");
  await one(db, {});
  expect(await errorCode(one(session, {}))).toBe("40001");
  await session.query("rollback");
});
