// enqueue_many_v1 and enqueue_v1: what is stored, in which order, and once per idempotency key, whatever other sessions ask at the same time.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import { call, claim, enqueue, enqueueOne, live, register, settle } from "../../support/sql/calls.js";
import { errorCode, type Session, useSessions, waitUntilBlocked } from "../../support/sql/sessions.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const open = useSessions(db);

const stored = async () => Number((await db.query<{ n: string }>("select count(*) as n from fairmill.job"))[0]!.n);

describe("what is stored", () => {
  test("F2: ids rise in the order in which the jobs were given, and are returned in it", async () => {
    const made = await enqueue(
      db,
      Array.from({ length: 5_000 }, (_, n) => ({ kind: "work", payload: n })),
    );
    expect(made).toHaveLength(5_000);
    expect(made.every(({ created }) => created)).toBe(true);
    const ids = made.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    const rows = await db.query<{ id: string; payload: number }>("select id, payload from fairmill.job order by id");
    expect(rows.map(({ id }) => id)).toEqual(made.map(({ id }) => id));
    expect(rows.map(({ payload }) => payload)).toEqual(Array.from({ length: 5_000 }, (_, n) => n));
  });

  test("a job that names every field gets every field, and one that names none gets the defaults", async () => {
    const [full, bare] = await enqueue(db, [
      {
        kind: "mail.send",
        payload: { to: "a@example.com", list: [1, "two", null] },
        tenant: "acme",
        queue: "mail",
        priority: -7,
        max_attempts: 9,
        key: "user 1",
      },
      { kind: "work" },
    ]);
    expect(await live(db, full!.id)).toMatchObject({
      kind: "mail.send",
      payload: { to: "a@example.com", list: [1, "two", null] },
      tenant: "acme",
      queue: "mail",
      priority: -7,
      max_attempts: 9,
      key: "user 1",
      state: "ready",
      lease_no: claimNo(0),
      attempt: 0,
      crashes: 0,
      worker: null,
      run_at: null,
      expire_at: null,
    });
    expect(await live(db, bare!.id)).toMatchObject({
      kind: "work",
      payload: {},
      tenant: "default",
      queue: "default",
      priority: 0,
      max_attempts: 3,
      key: null,
      state: "ready",
    });
  });

  test("shared fields hold for every job that does not name its own", async () => {
    const shared = {
      kind: "k",
      tenant: "t",
      queue: "q",
      priority: 4,
      max_attempts: 2,
      key: "key",
      delay_ms: 60_000,
      expire_ms: 1_000,
    };
    const own = {
      kind: "k2",
      tenant: "t2",
      queue: "q2",
      priority: 5,
      max_attempts: 1,
      key: "key2",
      delay_ms: 0,
      expire_ms: 5_000,
    };
    const [first, second] = await enqueue(db, [{}, own], shared);
    const { delay_ms: _, expire_ms: __, ...sharedColumns } = shared;
    const { delay_ms: ___, expire_ms: ____, ...ownColumns } = own;
    const [a, b] = [await live(db, first!.id), await live(db, second!.id)];
    expect(a).toMatchObject({ ...sharedColumns, state: "scheduled" });
    expect(a!.run_at!.getTime() - a!.created_at.getTime()).toBe(60_000);
    expect(a!.expire_at!.getTime() - a!.run_at!.getTime()).toBe(1_000);
    expect(b).toMatchObject({ ...ownColumns, state: "ready" });
    expect(b!.expire_at!.getTime() - b!.created_at.getTime()).toBe(5_000);
  });

  test("a payload that is not given is {}, and one that is null stays null", async () => {
    const made = await enqueue(db, [{ kind: "work" }, { kind: "work", payload: null }, { kind: "work", payload: [] }]);
    const rows = await Promise.all(made.map(({ id }) => live(db, id)));
    expect(rows.map((row) => row!["payload"])).toEqual([{}, null, []]);
  });

  test("an empty array stores nothing and is no error", async () => {
    expect(await enqueue(db, [])).toEqual([]);
    expect(await stored()).toBe(0);
  });

  test("B18: a transaction that rolls back leaves no job and no key", async () => {
    const session = await open();
    await session.query("begin");
    await enqueue(session, [{ kind: "work" }, { kind: "work", idempotency_key: "k" }]);
    await session.query("rollback");
    expect(await stored()).toBe(0);
    expect((await enqueue(db, [{ kind: "work", idempotency_key: "k" }]))[0]!.created).toBe(true);
  });

  test("a rollback to a savepoint takes back the part behind it, keys included", async () => {
    const session = await open();
    await session.query("begin");
    const kept = await enqueueOne(session, { idempotency_key: "kept" });
    await session.query("savepoint before");
    await enqueue(session, [{ kind: "work", idempotency_key: "gone" }]);
    await session.query("rollback to before");
    await session.query("commit");
    expect(await db.query("select id from fairmill.job")).toEqual([{ id: kept }]);
    expect(await db.query("select key from fairmill.idempotency")).toEqual([{ key: "kept" }]);
  });

  test("a job is seen by no other session before the commit", async () => {
    const session = await open();
    await register(db, "w");
    await session.query("begin");
    const id = await enqueueOne(session);
    expect(await claim(db, "w")).toEqual([]);
    await session.query("commit");
    expect(await claim(db, "w")).toMatchObject([{ id }]);
  });
});

describe("bad input", () => {
  test.each([
    ["an object", "{}"],
    ["a string", '"work"'],
    ["a JSON null", "null"],
    ["nothing", null],
  ])("jobs that are %s instead of an array are refused with FM001", async (_, jobs) => {
    expect(await errorCode(db.query("select * from fairmill.enqueue_many_v1($1)", [jobs]))).toBe("FM001");
  });

  test.each<[string, string, object[]]>([
    ["a missing kind", "23502", [{ payload: 1 }]],
    ["a missing kind beside a key", "23502", [{ idempotency_key: "k" }]],
    ["an empty kind", "23514", [{ kind: "" }]],
    ["a kind of 201 bytes", "23514", [{ kind: `${"ü".repeat(100)}k` }]],
    ["an empty tenant", "23514", [{ kind: "k", tenant: "" }]],
    ["an empty queue", "23514", [{ kind: "k", queue: "" }]],
    ["a priority above 32767", "22003", [{ kind: "k", priority: 32_768 }]],
    ["a priority below -32768", "22003", [{ kind: "k", priority: -32_769 }]],
    ["a priority that is no whole number", "22P02", [{ kind: "k", priority: 1.5 }]],
    ["a priority that is a word", "22P02", [{ kind: "k", priority: "high" }]],
    ["no attempt at all", "23514", [{ kind: "k", max_attempts: 0 }]],
    ["a run_at that is no time", "22007", [{ kind: "k", run_at: "soon" }]],
    ["an empty idempotency key", "23514", [{ kind: "k", idempotency_key: "" }]],
    ["an element that is no object", "22023", [1 as unknown as object]],
  ])("%s is refused (%s), and nothing of the array is stored", async (_, code, bad) => {
    const jobs = [{ kind: "good", idempotency_key: "good" }, ...bad];
    expect(await errorCode(enqueue(db, jobs as object as Record<string, unknown>[]))).toBe(code);
    expect(await stored()).toBe(0);
    expect(await db.query("select from fairmill.idempotency")).toEqual([]);
  });

  test("names of 200 bytes and the outermost priorities are taken", async () => {
    const name = "ü".repeat(100);
    const made = await enqueue(db, [
      { kind: name, tenant: name, queue: name, priority: 32_767 },
      { kind: "k", priority: -32_768 },
    ]);
    expect(made).toHaveLength(2);
  });
});

describe("idempotency keys", () => {
  const keyed = (...keys: string[]) => keys.map((key) => ({ kind: "work", idempotency_key: key }));

  test("a repeat gets the first job's id and makes nothing, also after that job ended", async () => {
    const [first] = await enqueue(db, keyed("k"));
    expect(first!.created).toBe(true);
    expect(await enqueue(db, keyed("k"))).toEqual([{ id: first!.id, created: false }]);
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "done");
    expect(await enqueue(db, keyed("k"))).toEqual([{ id: first!.id, created: false }]);
    expect(await stored()).toBe(0);
  });

  test("a key belongs to a tenant and a kind, named by the job or shared", async () => {
    const jobs = [
      { kind: "a", tenant: "x", idempotency_key: "k" },
      { kind: "b", tenant: "x", idempotency_key: "k" },
      { kind: "a", tenant: "y", idempotency_key: "k" },
    ];
    const made = await enqueue(db, jobs);
    expect(made.map(({ created }) => created)).toEqual([true, true, true]);
    expect(await enqueue(db, [{ idempotency_key: "k" }], { kind: "a", tenant: "y" })).toEqual([
      { id: made[2]!.id, created: false },
    ]);
    expect((await enqueue(db, [{ kind: "a", idempotency_key: "k" }]))[0]!.created).toBe(true);
  });

  test("twice in one batch is one job, and answers stay in the order given, with and without keys", async () => {
    const jobs = [
      ...keyed("b", "a"),
      { kind: "work" },
      ...keyed("b", "c", "a"),
      { kind: "work", idempotency_key: null },
    ];
    const made = await enqueue(db, jobs);
    expect(made.map(({ created }) => created)).toEqual([true, true, true, false, true, false, true]);
    expect(made[3]!.id).toBe(made[0]!.id);
    expect(made[5]!.id).toBe(made[1]!.id);
    expect(await stored()).toBe(5);
    const fresh = made.filter(({ created }) => created).map(({ id }) => Number(id));
    expect(fresh).toEqual(fresh.toSorted((a, b) => a - b));
    const keys = await db.query<{ key: string; job_id: string }>(
      "select key, job_id from fairmill.idempotency order by key",
    );
    expect(keys.map(({ job_id }) => job_id)).toEqual([made[1]!.id, made[0]!.id, made[4]!.id]);
  });

  test("of two transactions with one key the second waits for the first and gets its job", async () => {
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    const [first] = await enqueue(a, keyed("k"));
    const second = enqueue(b, keyed("k"));
    await waitUntilBlocked(db, b);
    await a.query("commit");
    expect(await second).toEqual([{ id: first!.id, created: false }]);
    expect(await stored()).toBe(1);
  });

  test("when the first rolls back, the second makes the job", async () => {
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    await enqueue(a, keyed("k"));
    const second = enqueue(b, keyed("k"));
    await waitUntilBlocked(db, b);
    await a.query("rollback");
    const [made] = await second;
    expect(made!.created).toBe(true);
    expect(await db.query("select id from fairmill.job")).toEqual([{ id: made!.id }]);
  });

  test("keys are taken in one order whatever order they are given in: two callers cannot deadlock", async () => {
    const [gate, a, b] = [await open(), await open(), await open()];
    await gate.query("begin");
    await enqueue(gate, keyed("a"));
    const both = [enqueue(a, keyed("c", "b", "a")), enqueue(b, keyed("a", "b", "c"))];
    await Promise.all([waitUntilBlocked(db, a), waitUntilBlocked(db, b)]);
    // Both stand at the first key and hold none of the others: a third caller gets those without waiting.
    const other = await open();
    await other.query("set lock_timeout = '2s'");
    await other.query("begin");
    expect((await enqueue(other, keyed("b", "c"))).map(({ created }) => created)).toEqual([true, true]);
    await other.query("rollback");
    await gate.query("rollback");
    const [fromA, fromB] = await Promise.all(both);
    expect(fromA!.map(({ id }) => id).toReversed()).toEqual(fromB!.map(({ id }) => id));
    expect(await stored()).toBe(3);
  });

  test("eight callers with the same keys in any order make each job once", async () => {
    const keys = Array.from({ length: 40 }, (_, n) => `key ${n}`);
    const sessions = await Promise.all(Array.from({ length: 8 }, () => open()));
    const answers = await Promise.all(
      sessions.map((session, n) => enqueue(session, keyed(...keys.slice(n * 5), ...keys.slice(0, n * 5)))),
    );
    expect(answers.flat().filter(({ created }) => created)).toHaveLength(40);
    expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(40);
    expect(await stored()).toBe(40);
  });

  test("a key that retention removes in the very moment of the question is free, and the job is made", async () => {
    await enqueue(db, keyed("k"));
    await db.query("delete from fairmill.job");
    // Between the insert that found the key taken and the question whose it is: holds still until the test lets go.
    await db.query(`create function public.hold() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(42); return null; end $$;
      create trigger hold after insert on fairmill.idempotency for each statement execute function public.hold()`);
    try {
      const [gate, caller] = [await open(), await open()];
      await gate.query("select pg_advisory_lock(42)");
      const again = enqueue(caller, keyed("k"));
      await waitUntilBlocked(db, caller);
      expect(await call<number>(db, "retention('0 seconds')")).toBe(1);
      await gate.query("select pg_advisory_unlock(42)");
      const [made] = await again;
      expect(made!.created).toBe(true);
      expect(await db.query("select id from fairmill.job")).toEqual([{ id: made!.id }]);
      // And the key is taken again.
      expect(await enqueue(db, keyed("k"))).toEqual([{ id: made!.id, created: false }]);
    } finally {
      await db.query("drop trigger hold on fairmill.idempotency; drop function public.hold()");
    }
  });
});

describe("a REPEATABLE READ caller", () => {
  async function snapshot(): Promise<Session> {
    const session = await open();
    await session.query("begin isolation level repeatable read");
    await session.query("select from fairmill.job");
    return session;
  }

  test("enqueues as usual, and meets its own and all earlier keys", async () => {
    const [before] = await enqueue(db, [{ kind: "work", idempotency_key: "before" }]);
    const session = await snapshot();
    const made = await enqueue(session, [
      { kind: "work" },
      { kind: "work", idempotency_key: "before" },
      { kind: "work", idempotency_key: "own" },
    ]);
    expect(made.map(({ created }) => created)).toEqual([true, false, true]);
    expect(made[1]!.id).toBe(before!.id);
    expect(await enqueue(session, [{ kind: "work", idempotency_key: "own" }])).toEqual([
      { id: made[2]!.id, created: false },
    ]);
    await session.query("commit");
    expect(await stored()).toBe(3);
  });

  test("is told to try again when the key was taken after its snapshot, and makes no second job", async () => {
    const session = await snapshot();
    await enqueue(db, [{ kind: "work", idempotency_key: "k" }]);
    expect(await errorCode(enqueue(session, [{ kind: "work", idempotency_key: "k" }]))).toBe("40001");
    await session.query("rollback");
    expect(await stored()).toBe(1);
  });
});

describe("waking", () => {
  async function listener(): Promise<Session> {
    const session = await open();
    await session.query("listen fairmill");
    return session;
  }

  /** Everything that was sent up to now: a mark is sent behind it and waited for. */
  async function sent(session: Session): Promise<string[]> {
    await db.query("notify fairmill, 'mark'");
    await waitUntil("the mark", async () => {
      await session.query("select");
      return session.notified.includes("fairmill mark");
    });
    return session.notified.splice(0).filter((heard) => heard !== "fairmill mark");
  }

  const sleeper = async (worker: string, queues: string[]) => {
    await db.query("select fairmill.register_v1($1, $2, '1 hour')", [worker, queues]);
    await call(db, "listening_v1($1, true)", [worker]);
  };

  test("B20: nothing is told while no worker sleeps", async () => {
    const observer = await listener();
    await register(db, "busy");
    await sleeper("elsewhere", ["other"]);
    await sleeper("gone", ["default"]);
    await call(db, "stop_worker_v1('gone')");
    await sleeper("silent", ["default"]);
    await db.query("update fairmill.worker set lease_until = now() - interval '1 second' where id = 'silent'");
    await enqueue(db, [{ kind: "work" }]);
    expect(await sent(observer)).toEqual([]);
  });

  test("B20: a sleeping worker is notified which of its queues has work, once per queue, with the commit", async () => {
    const observer = await listener();
    await sleeper("w", ["default", "mail"]);
    const session = await open();
    await session.query("begin");
    await enqueue(session, [
      { kind: "a" },
      { kind: "b" },
      { kind: "c", queue: "mail" },
      { kind: "d", queue: "nobody's" },
    ]);
    expect(await sent(observer)).toEqual([]);
    await session.query("commit");
    expect((await sent(observer)).toSorted()).toEqual(["fairmill default", "fairmill mail"]);
  });

  test("a job that is due within ten seconds is announced with its time, a later one is not", async () => {
    const observer = await listener();
    await sleeper("w", ["default"]);
    await enqueue(db, [
      { kind: "work", delay_ms: 3_000 },
      { kind: "work", delay_ms: 60_000 },
    ]);
    expect(await sent(observer)).toEqual(["fairmill !due 3000"]);
    await enqueue(db, [{ kind: "work", delay_ms: 60_000 }]);
    expect(await sent(observer)).toEqual([]);
  });

  test("a job's own delay counts, not the shared one that it replaces", async () => {
    const observer = await listener();
    await sleeper("w", ["default"]);
    await enqueue(
      db,
      [
        { kind: "work", delay_ms: 0 },
        { kind: "work", delay_ms: 2_000 },
      ],
      { delay_ms: 3_600_000 },
    );
    expect((await sent(observer)).toSorted()).toEqual(["fairmill !due 2000", "fairmill default"]);
  });

  test("the caller who wakes by itself says so, and nothing is sent", async () => {
    const observer = await listener();
    await sleeper("w", ["default"]);
    await db.query("select fairmill.enqueue_many_v1($1, '{}', false)", [JSON.stringify([{ kind: "work" }])]);
    expect(await sent(observer)).toEqual([]);
    await call(db, "wake_v1('{default,default,other}', 5)");
    expect(await sent(observer)).toEqual(["fairmill default", "fairmill !due 5"]);
  });
});
