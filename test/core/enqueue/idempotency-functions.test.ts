// Idempotency keys: one job each, whatever other sessions ask at the same time.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { call, claim, enqueue, register, settle } from "../../support/sql/calls.js";
import { useSessions, waitUntilBlocked } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const stored = async () => Number((await db.query<{ n: string }>("select count(*) as n from fairmill.job"))[0]!.n);

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
