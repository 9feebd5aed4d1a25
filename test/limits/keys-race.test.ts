// Places of keys between sessions: the interleavings in which other queues lose the wake-up and leave a job blocked for ever.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import {
  call,
  claimUnderLimits,
  enqueueKeyed,
  enqueueLimited,
  setRule,
  settle,
  statesOf,
  tick,
} from "../support/sql/calls.js";
import { type Session, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { keySessions } from "./key-sessions.js";

const db = useDatabase();
const open = useSessions(db);
const { begin, blockedOrDone, claimOne } = keySessions(db, open);

describe("no wake-up is lost (Solid Queue #456, #689)", () => {
  const held = async () => {
    await setRule(db, { max_running: 1 });
    const [id] = await enqueueKeyed(db, 1);
    return { id: id!, running: await claimOne() };
  };
  const oneIsReady = async (ids: readonly string[]) =>
    expect((await statesOf(db, ids)).filter((state) => state === "ready")).toHaveLength(1);

  test("an enqueue that sees the place taken while the settle that frees it has not committed: the settle first", async () => {
    const { running } = await held();
    const [settling, enqueuing] = [await begin(), await open()];
    await settle(settling, "w", [running], "done");
    const stored = enqueueLimited(enqueuing, [{ key: "k" }]);
    await blockedOrDone(enqueuing, stored);
    await settling.query("commit");
    await oneIsReady([(await stored)[0]!.id!]);
  });

  test("the same, the enqueue first: the settle finds the job that was just blocked", async () => {
    const { running } = await held();
    const [settling, enqueuing] = [await open(), await begin()];
    const [stored] = await enqueueLimited(enqueuing, [{ key: "k" }]);
    expect(await statesOf(enqueuing, [stored!.id!])).toEqual(["blocked"]);
    const settled = settle(settling, "w", [running], "done");
    await blockedOrDone(settling, settled);
    await enqueuing.query("commit");
    expect(await settled).toEqual({ accepted: 1, refused: [] });
    await oneIsReady([stored!.id!]);
  });

  test("the same, and the enqueue rolls back: nothing is left, and the next one gets the place", async () => {
    const { running } = await held();
    const [settling, enqueuing] = [await open(), await begin()];
    await enqueueLimited(enqueuing, [{ key: "k" }]);
    const settled = settle(settling, "w", [running], "done");
    await blockedOrDone(settling, settled);
    await enqueuing.query("rollback");
    await settled;
    await oneIsReady(await enqueueKeyed(db, 1));
  });

  test("a promotion that adds to the blocked while the place is being freed, in both orders", async () => {
    for (const settleFirst of [true, false]) {
      await db.query("delete from fairmill.job");
      const { running } = await held();
      const [later] = await enqueueLimited(db, [{ key: "k", delay_ms: 3_600_000 }]);
      await db.query("update fairmill.job set run_at = now() where id = $1", [later!.id]);
      const [first, second] = [await begin(), await open()];
      const free = (ask: Session) => settle(ask, "w", [running], "done");
      const promote = (ask: Session) => call(ask, "promote_v1()");
      await (settleFirst ? free : promote)(first);
      const answered = (settleFirst ? promote : free)(second);
      await blockedOrDone(second, answered);
      await first.query("commit");
      await answered;
      await oneIsReady([later!.id!]);
    }
  });

  test("the only place is passed on although an enqueue of its key has not committed, and that one is not overlooked", async () => {
    const { running } = await held();
    const [second] = await enqueueKeyed(db, 1);
    const [settling, enqueuing] = [await open(), await begin()];
    const [third] = await enqueueLimited(enqueuing, [{ key: "k" }]);
    await settling.query("set lock_timeout = '2s'");
    expect(await settle(settling, "w", [running], "done")).toEqual({ accepted: 1, refused: [] });
    expect(await statesOf(db, [second!])).toEqual(["ready"]);
    const next = await claimOne();
    expect(next.id).toBe(second);
    // No job is seen to be blocked now: this settle waits for the enqueue.
    await settling.query("reset lock_timeout");
    const settled = settle(settling, "w", [next], "done");
    await waitUntilBlocked(db, settling);
    await enqueuing.query("commit");
    await settled;
    expect(await statesOf(db, [third!.id!])).toEqual(["ready"]);
  });

  test("an enqueue that comes while the only place is being passed on is blocked behind it", async () => {
    const { running } = await held();
    const [second] = await enqueueKeyed(db, 1);
    const settling = await begin();
    await settle(settling, "w", [running], "done");
    const [third] = await enqueueKeyed(db, 1);
    await settling.query("commit");
    expect(await statesOf(db, [second!, third!])).toEqual(["ready", "blocked"]);
    await settle(db, "w", [await claimOne()], "done");
    expect(await statesOf(db, [third!])).toEqual(["ready"]);
  });

  test("two settles at once of a limit that was lowered to one: one goes on, not two, and not none", async () => {
    await setRule(db, { max_running: 2 });
    const ids = await enqueueKeyed(db, 4);
    const running = [await claimOne(), await claimOne()];
    await setRule(db, { max_running: 1 });
    const [a, b] = [await begin(), await open()];
    await settle(a, "w", [running[0]!], "done");
    const second = settle(b, "w", [running[1]!], "done");
    await blockedOrDone(b, second);
    await a.query("commit");
    await second;
    expect(await statesOf(db, ids)).toEqual(["done", "done", "ready", "blocked"]);
  });

  test("both places of a limit that was lowered to one, freed by one settle: one goes on", async () => {
    await setRule(db, { max_running: 2 });
    const ids = await enqueueKeyed(db, 4);
    const running = [await claimOne(), await claimOne()];
    await setRule(db, { max_running: 1 });
    await settle(db, "w", running, "done");
    expect(await statesOf(db, ids)).toEqual(["done", "done", "ready", "blocked"]);
  });

  test("both places of a key, freed by one settle: two go on", async () => {
    await setRule(db, { max_running: 2 });
    const ids = await enqueueKeyed(db, 5);
    await settle(db, "w", [await claimOne(), await claimOne()], "done");
    expect(await statesOf(db, ids)).toEqual(["done", "done", "ready", "ready", "blocked"]);
  });

  test("places of kinds whose names begin alike, freed by one settle: each kind by its own limit", async () => {
    const kinds = { limited: 1, "limited ": 2, 'limited"': 2, 'limited", "': 2, "limited\\": 2 };
    for (const [kind, limit] of Object.entries(kinds)) await setRule(db, { max_running: limit }, kind);
    const ids: string[] = [];
    for (const kind of Object.keys(kinds)) ids.push(...(await enqueueKeyed(db, 4, { kind })));
    await settle(db, "w", (await claimUnderLimits(db, "w")).jobs, "done");
    const left: string[] = [];
    for (const limit of Object.values(kinds))
      left.push(...Array.from({ length: 4 }, (_, n) => (n < limit ? "done" : n < 2 * limit ? "ready" : "blocked")));
    expect(await statesOf(db, ids)).toEqual(left);
  });

  test("a slot of a kind that refuses is not passed on while a caller's open transaction may have given one", async () => {
    const rule = { max_running: 2, when_full: "refuse" };
    await setRule(db, rule);
    await enqueueKeyed(db, 1);
    const running = await claimOne();
    const [again] = await enqueueKeyed(db, 1);
    await call(db, "cancel_v1($1)", [again]);
    const caller = await begin();
    const [stored] = await enqueueLimited(caller, [{ key: "k" }], { alone: false });
    expect(await statesOf(caller, [stored!.id!])).toEqual(["ready"]);
    await call(db, "retry_v1($1)", [again]);
    await setRule(db, { ...rule, max_running: 1 });
    await settle(db, "w", [running], "done");
    await caller.query("commit");
    expect(await statesOf(db, [again!, stored!.id!])).toEqual(["blocked", "ready"]);
  });

  test("two settles at once, each with a place to pass on: two go on, never three", async () => {
    await setRule(db, { max_running: 2 });
    const ids = await enqueueKeyed(db, 5);
    const running = [await claimOne(), await claimOne()];
    const [a, b] = [await begin(), await open()];
    await settle(a, "w", [running[0]!], "done");
    const second = settle(b, "w", [running[1]!], "retry", [{ delay_ms: 60_000 }]);
    await blockedOrDone(b, second);
    await a.query("commit");
    await second;
    expect((await statesOf(db, ids)).toSorted()).toEqual(["blocked", "done", "ready", "ready", "scheduled"]);
  });

  test.each(["cancel_v1($1)", "retry_v1($1)"])(
    "a blocked job that %s holds while the place is freed, and then rolls back, is found by upkeep",
    async (function_) => {
      const { running } = await held();
      const [waiting] = await enqueueKeyed(db, 1);
      const holder = await begin();
      await call(holder, function_, [waiting]);
      // No session waits for the holder.
      const settling = await open();
      await settling.query("set lock_timeout = '2s'");
      expect(await settle(settling, "w", [running], "done")).toEqual({ accepted: 1, refused: [] });
      expect(await statesOf(db, [waiting!])).toEqual(["blocked"]);
      await holder.query("rollback");
      await tick(db);
      expect(await statesOf(db, [waiting!])).toEqual(["ready"]);
      expect(await db.query("select from fairmill.meter where recheck")).toEqual([]);
    },
  );

  test("the mark stays as long as the blocked job is held, however often upkeep looks", async () => {
    const { running } = await held();
    const [waiting] = await enqueueKeyed(db, 1);
    const holder = await begin();
    await holder.query("select from fairmill.job where id = $1 for update", [waiting]);
    await settle(db, "w", [running], "done");
    for (let n = 0; n < 3; n++) await tick(db);
    expect(await db.query("select from fairmill.meter where recheck")).toHaveLength(1);
    await holder.query("commit");
    await tick(db);
    expect(await statesOf(db, [waiting!])).toEqual(["ready"]);
  });

  test.each(["known", "new"])(
    "who waits for a key holds those before it by name, also one that is %s",
    async (which) => {
      await setRule(db, { max_running: 1 });
      await enqueueKeyed(db, 1, { key: "b" });
      if (which === "known") await enqueueKeyed(db, 1, { key: "a" });
      const [holder, both, one] = [await begin(), await open(), await open()];
      await enqueueLimited(holder, [{ key: "b" }]);
      const second = enqueueLimited(both, [{ key: "b" }, { key: "a" }]);
      await waitUntilBlocked(db, both);
      const third = enqueueLimited(one, [{ key: "a" }]);
      await waitUntilBlocked(db, one);
      await holder.query("commit");
      expect((await Promise.all([second, third])).flat().every(({ id }) => id !== null)).toBe(true);
    },
  );

  test("two who lock the same keys, one of them new, take them in one order and do not wait for each other", async () => {
    await setRule(db, { max_running: 1 });
    await enqueueKeyed(db, 1, { key: "b" });
    const [a, b, c] = [await begin(), await open(), await open()];
    const both = [{ key: "b" }, { key: "a" }];
    await enqueueLimited(a, both);
    const waiting = [b, c].map((session) => enqueueLimited(session, both));
    await Promise.all([b, c].map((session) => waitUntilBlocked(db, session)));
    await a.query("commit");
    expect((await Promise.all(waiting)).flat().every(({ id }) => id !== null)).toBe(true);
  });
});
