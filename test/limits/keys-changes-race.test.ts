// Slots of keys while what they hang on changes: a caller's open transaction, a rule, a meter that retention removes.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import {
  call,
  claimUnderLimits,
  enqueueKeyed,
  enqueueLimited,
  live,
  setRule,
  settle,
  statesOf,
  tick,
} from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
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

  test("a meter that retention removes at that moment is made anew, and locked", async () => {
    const { running } = await held();
    const [waiting] = await enqueueKeyed(db, 1);
    await db.query("update fairmill.meter set used_at = now() - interval '2 days'");
    const [removing, settling, enqueuing] = [await begin(), await begin(), await open()];
    expect(await call(removing, "retention()")).toBe(1);
    const settled = settle(settling, "w", [running], "done");
    await blockedOrDone(settling, settled);
    await removing.query("commit");
    await settled;
    // The settle holds the new one: who enqueues waits for it, and is blocked behind the job that got the place.
    const stored = enqueueLimited(enqueuing, [{ key: "k" }]);
    await blockedOrDone(enqueuing, stored);
    await settling.query("commit");
    expect(await statesOf(db, [waiting!, (await stored)[0]!.id!])).toEqual(["ready", "blocked"]);
  });

  test("a rule that is raised while another session writes to the key's meter: blocked jobs get the new slot", async () => {
    await setRule(db, { max_running: 1 });
    const [, second] = await enqueueKeyed(db, 2);
    const writer = await begin();
    await writer.query("update fairmill.meter set used_at = now() + interval '1 hour' where use = 'start'");
    const raiser = await open();
    const raised = setRule(raiser, { max_running: 2 });
    await waitUntilBlocked(db, raiser);
    await writer.query("commit");
    await raised;
    await tick(db);
    expect((await live(db, second!))!.state).toBe("ready");
  });

  test("a rule that is taken away between the look and the lock lets the job through", async () => {
    await held();
    const [holder, enqueuing] = [await begin(), await open()];
    await holder.query("select from fairmill.meter for update");
    const stored = enqueueLimited(enqueuing, [{ key: "k" }]);
    await blockedOrDone(enqueuing, stored);
    await db.query("delete from fairmill.key_limit");
    await holder.query("commit");
    expect(await statesOf(db, [(await stored)[0]!.id!])).toEqual(["ready"]);
  });
});

describe("in a transaction of the caller", () => {
  test("an enqueue of a limited kind holds nothing that a settle, a claim or another enqueue of the same key waits for", async () => {
    await setRule(db, { max_running: 1, rate: { limit: 100, per_ms: 60_000 } });
    const [first, second] = await enqueueKeyed(db, 2);
    const caller = await begin();
    const [stored] = await enqueueLimited(caller, [{ key: "k" }], { alone: false });
    expect(await statesOf(caller, [stored!.id!])).toEqual(["scheduled"]);
    await caller.query("select id from fairmill.enqueue_v1('limited', key => 'k')");
    const other = await open();
    await other.query("set lock_timeout = '2s'");
    const { jobs } = await claimUnderLimits(other, "w");
    expect(jobs.map(({ id }) => id)).toEqual([first]);
    await settle(other, "w", jobs, "done");
    expect(await statesOf(other, [second!])).toEqual(["ready"]);
    await enqueueLimited(other, [{ key: "k" }]);
    await tick(other);
    await caller.query("commit");
    // After the commit any upkeep finds its slot.
    await call(db, "cancel_v1($1)", [second]);
    await tick(db);
    expect(
      await db.query<{ n: number; state: string }>(
        "select count(*)::integer as n, state from fairmill.job group by 2 order by 2",
      ),
    ).toEqual([
      { n: 2, state: "blocked" },
      { n: 1, state: "ready" },
    ]);
  });

  test("what counts under a lock refuses a snapshot that was taken before it", async () => {
    await setRule(db, { max_running: 1 });
    await enqueueKeyed(db, 1);
    const session = await open();
    await session.query("begin isolation level repeatable read");
    expect(await errorCode(enqueueLimited(session, [{ key: "k" }]))).toBe("FM003");
    const running = await claimOne();
    await enqueueKeyed(db, 1);
    await session.query("rollback; begin isolation level repeatable read");
    expect(await errorCode(settle(session, "w", [running], "done"))).toBe("FM003");
    await session.query("rollback; begin isolation level repeatable read");
    // Not alone, it needs no lock: the place is found after the commit.
    const [stored] = await enqueueLimited(session, [{ key: "k" }], { alone: false });
    await session.query("commit");
    await tick(db);
    expect(await statesOf(db, [stored!.id!])).toEqual(["blocked"]);
  });
});
