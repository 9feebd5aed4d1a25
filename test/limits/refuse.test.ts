// Kinds that refuse: a job holds its place from its enqueue to its end, and who finds none is told who holds it.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import {
  type Answered,
  call,
  claimUnderLimits,
  enqueueLimited,
  live,
  setLimits,
  setRule,
  settle,
  statesOf,
  tick,
} from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const REFUSE = { max_running: 1, when_full: "refuse" };
const codes = (answers: readonly Answered[]) => answers.map(({ refused }) => refused?.["code"] ?? null);

describe("a kind that refuses", () => {
  test("B5: the refusal names the limit, the key and who holds the place; another key is let in", async () => {
    await setRule(db, { ...REFUSE, max_running: 2 });
    const holders = [...(await enqueueLimited(db, [{ key: "k" }])), ...(await enqueueLimited(db, [{ key: "k" }]))];
    expect(await enqueueLimited(db, [{ key: "k" }])).toEqual([
      {
        id: null,
        created: false,
        refused: {
          code: "FAIRMILL_ACTIVE_LIMIT",
          key: '["limited", "default", "k"]',
          limit: 2,
          jobs: holders.map(({ id }) => Number(id)),
        },
      },
    ]);
    expect(codes(await enqueueLimited(db, [{ key: "other" }, {}]))).toEqual([null, null]);
  });

  test("B5: the place is held while the job is scheduled, waits for a retry or is snoozed, and free when it ended", async () => {
    await setRule(db, REFUSE);
    const [job] = await enqueueLimited(db, [{ key: "k", delay_ms: 3_600_000 }]);
    const isRefused = async () => codes(await enqueueLimited(db, [{ key: "k" }]))[0] === "FAIRMILL_ACTIVE_LIMIT";
    expect(await isRefused()).toBe(true);
    await db.query("update fairmill.job set run_at = now()");
    await tick(db);
    for (const verdict of ["retry", "snooze", "release", "retry"] as const) {
      expect(await live(db, job!.id!)).toMatchObject({ state: "ready", slot: 1 });
      const { jobs } = await claimUnderLimits(db, "w");
      expect(await isRefused()).toBe(true);
      await settle(db, "w", jobs, verdict, [{ delay_ms: 0 }]);
      expect(await isRefused()).toBe(true);
      await tick(db);
    }
    const { jobs } = await claimUnderLimits(db, "w");
    await settle(db, "w", jobs, "done");
    expect(await isRefused()).toBe(false);
  });

  test("all or nothing, unless partial: then those that fit are stored", async () => {
    await setRule(db, { ...REFUSE, max_running: 2 });
    const jobs = [{ key: "a" }, { key: "a" }, { key: "b" }, { key: "a" }];
    const none = await enqueueLimited(db, jobs);
    expect(none.map(({ id }) => id)).toEqual([null, null, null, null]);
    expect(codes(none)).toEqual([null, null, null, "FAIRMILL_ACTIVE_LIMIT"]);
    expect(await db.query("select from fairmill.job")).toEqual([]);
    const some = await enqueueLimited(db, jobs, { partial: true });
    expect(some.map(({ id }) => id !== null)).toEqual([true, true, true, false]);
    expect(some.map(({ created }) => created)).toEqual([true, true, true, false]);
    expect(await db.query("select from fairmill.job")).toHaveLength(3);
  });

  test("the idempotency key of a refused job is free again, that of one that was let in is not", async () => {
    await setRule(db, REFUSE);
    const jobs = [
      { key: "a", idempotency_key: "1" },
      { key: "a", idempotency_key: "2" },
    ];
    await enqueueLimited(db, jobs);
    expect(await db.query("select from fairmill.idempotency")).toEqual([]);
    const [first, second] = await enqueueLimited(db, jobs, { partial: true });
    expect(second!.id).toBeNull();
    // Repeated, the first is known and asks for no place, and the second is refused again.
    expect(await enqueueLimited(db, jobs, { partial: true })).toMatchObject([
      { id: first!.id, created: false, refused: null },
      { id: null, refused: { code: "FAIRMILL_ACTIVE_LIMIT", jobs: [Number(first!.id)] } },
    ]);
    await call(db, "cancel_v1($1)", [first!.id]);
    const again = await enqueueLimited(db, jobs, { partial: true });
    expect(again).toMatchObject([
      { id: first!.id, created: false },
      { created: true, refused: null },
    ]);
  });

  test("B5: sixteen that enqueue one key at once: exactly as many get in as there are places, whatever their transactions", async () => {
    await setRule(db, { ...REFUSE, max_running: 3 });
    const sessions = await Promise.all(Array.from({ length: 16 }, () => open()));
    for (let round = 0; round < 5; round++) {
      const key = `round ${round}`;
      const outcomes = await Promise.all(
        sessions.map(async (session, n) => {
          // Alone, in a transaction of the caller, and in one whose snapshot is older than the others' jobs.
          if (n % 4 === 0) return codes(await enqueueLimited(session, [{ key }]))[0];
          await session.query(n % 4 === 1 ? "begin isolation level repeatable read; select 1" : "begin");
          try {
            const [answer] = await enqueueLimited(session, [{ key }], { alone: false });
            await session.query("commit");
            return answer!.refused?.["code"] ?? null;
          } catch (error) {
            await session.query("rollback");
            return (error as { code: string }).code;
          }
        }),
      );
      expect(outcomes.filter((outcome) => outcome === null)).toHaveLength(3);
      for (const outcome of outcomes) expect([null, "FAIRMILL_ACTIVE_LIMIT", "40001", "23505"]).toContain(outcome);
      expect(await db.query("select from fairmill.job where key = $1", [key])).toHaveLength(3);
    }
  });

  test("in a REPEATABLE READ transaction that cannot see the holder, the insert fails: never one too many", async () => {
    await setRule(db, REFUSE);
    const session = await open();
    await session.query("begin isolation level repeatable read");
    await session.query("select count(*) from fairmill.job");
    await enqueueLimited(db, [{ key: "k" }]);
    expect(["40001", "23505"]).toContain(await errorCode(enqueueLimited(session, [{ key: "k" }], { alone: false })));
    await session.query("rollback");
    // With a meter that no session touches any more the lock says nothing: then it is the index that says no.
    await db.query("delete from fairmill.job");
    await session.query("begin isolation level repeatable read");
    await session.query("select count(*) from fairmill.job");
    await db.query(
      `insert into fairmill.job (kind, queue, tenant, key, limit_key, slot, state, payload)
       values ('limited', 'default', 'default', 'k', '["limited", "default", "k"]', 1, 'ready', '{}')`,
    );
    expect(await errorCode(enqueueLimited(session, [{ key: "k" }], { alone: false }))).toBe("23505");
    await session.query("rollback");
    expect(await db.query("select from fairmill.job")).toHaveLength(1);
  });

  test("plain SQL gets FM011 with the refusal as detail, and FM010 for a rate", async () => {
    await setRule(db, REFUSE);
    const [{ id } = { id: "" }] = await db.query<{ id: string }>(
      "select id from fairmill.enqueue_v1('limited', key => 'k')",
    );
    const detailOf = (work: Promise<unknown>) =>
      work.then(
        () => "no error",
        (error: { code: string; detail: string }) => [error.code, JSON.parse(error.detail) as object],
      );
    expect(await detailOf(db.query("select fairmill.enqueue_v1('limited', key => 'k')"))).toEqual([
      "FM011",
      { code: "FAIRMILL_ACTIVE_LIMIT", key: '["limited", "default", "k"]', limit: 1, jobs: [Number(id)] },
    ]);
    await setLimits(db, "tenant", "t", { rate: { limit: 1, per_ms: 60_000, at: "enqueue" } });
    await db.query("select fairmill.enqueue_v1('other', tenant => 't')");
    expect(await detailOf(db.query("select fairmill.enqueue_v1('other', tenant => 't')"))).toMatchObject([
      "FM010",
      { code: "FAIRMILL_RATE_LIMIT", scope: "tenant", name: "t", limit: 1, per_ms: 60_000 },
    ]);
  });
});

describe("a job of such a kind that is run again by hand", () => {
  test("waits while another is active, and gets the place when that one ends", async () => {
    await setRule(db, REFUSE);
    const [dead] = await enqueueLimited(db, [{ key: "k" }]);
    await call(db, "cancel_v1($1)", [dead!.id]);
    const [active] = await enqueueLimited(db, [{ key: "k" }]);
    expect(await call(db, "retry_v1($1)", [dead!.id])).toBe("blocked");
    await call(db, "cancel_v1($1)", [active!.id]);
    expect(await statesOf(db, [dead!.id!])).toEqual(["ready"]);
    expect(codes(await enqueueLimited(db, [{ key: "k" }]))).toEqual(["FAIRMILL_ACTIVE_LIMIT"]);
  });

  test("does not make a settle wait for a long transaction that enqueues the same key, nor take its place", async () => {
    await setRule(db, REFUSE);
    const [dead] = await enqueueLimited(db, [{ key: "k" }]);
    await call(db, "cancel_v1($1)", [dead!.id]);
    const caller = await open();
    await caller.query("begin");
    const [taken] = await enqueueLimited(caller, [{ key: "k" }], { alone: false });
    const other = await open();
    await other.query("set lock_timeout = '2s'");
    // The place looks free to everybody but the caller.
    expect(await call(other, "retry_v1($1)", [dead!.id])).toBe("blocked");
    await tick(other);
    expect(await statesOf(other, [dead!.id!])).toEqual(["blocked"]);
    await caller.query("commit");
    await tick(db);
    expect(await statesOf(db, [dead!.id!, taken!.id!])).toEqual(["blocked", "ready"]);
    await call(db, "cancel_v1($1)", [taken!.id]);
    expect(await statesOf(db, [dead!.id!])).toEqual(["ready"]);
  });
});

test("a second enqueue of the key waits for the first one's commit, and is let in if that rolls back", async () => {
  await setRule(db, REFUSE);
  const [first, second] = [await open(), await open()];
  await first.query("begin");
  await enqueueLimited(first, [{ key: "k" }], { alone: false });
  const waiting = enqueueLimited(second, [{ key: "k" }]);
  await waitUntilBlocked(db, second);
  await first.query("rollback");
  expect(codes(await waiting)).toEqual([null]);
});
