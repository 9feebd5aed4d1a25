// enqueue_many_v1 and enqueue_v1: what is stored, in which order, and what is refused.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import { claim, enqueue, enqueueOne, live, register } from "../../support/sql/calls.js";
import { errorCode, type Session, useSessions } from "../../support/sql/sessions.js";

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
