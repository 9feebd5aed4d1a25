// Batches by SQL alone: counted by the session that ends a member, over when nothing is left, with each callback enqueued once, in the transaction
// that ends the last member.
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import {
  call,
  claim,
  endLease,
  enqueueLimited,
  enqueueOne,
  live,
  recover,
  register,
  setRule,
  settle,
  statesOf,
  tick,
} from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { batchOf, CALLBACKS, liveKinds, openBatch, stateOf, work } from "./batch-calls.js";

const db = useDatabase();
const open = useSessions(db);
const JOBS = [{ kind: "work" }, { kind: "work" }, { kind: "work" }];

beforeEach(async () => {
  await register(db, "w");
});

describe("a batch is over when its last member has ended", () => {
  test("E2 P8: success and complete are enqueued by the settle of the last one, once", async () => {
    const { id, stored } = await openBatch(db, { callbacks: CALLBACKS, name: "import" }, JOBS);
    expect(stored).toBe(3);
    const jobs = await claim(db, "w", 3);
    await settle(db, "w", jobs.slice(0, 2), "done");
    expect(await batchOf(db, id)).toMatchObject({ state: "pending", done: 2 });
    expect(await liveKinds(db)).toEqual(["work"]);
    await settle(db, "w", jobs.slice(2), "done");
    expect(await batchOf(db, id)).toMatchObject({ state: "succeeded", done: 3, dead: 0 });
    expect(await liveKinds(db)).toEqual(["success", "complete"]);
    // The answer was lost, and the settle is sent again.
    await settle(db, "w", jobs, "done");
    expect(await liveKinds(db)).toEqual(["success", "complete"]);
    expect(await batchOf(db, id)).toMatchObject({ done: 3 });
  });

  test("a death is called back at once; then no success, and the state is failed", async () => {
    const { id } = await openBatch(db, { callbacks: CALLBACKS }, JOBS);
    const jobs = await claim(db, "w", 3);
    await settle(db, "w", jobs.slice(0, 1), "dead", [{ error: { message: "no" } }]);
    expect(await liveKinds(db)).toEqual(["work", "work", "death"]);
    await settle(db, "w", jobs.slice(1, 2), "dead", [{ error: { message: "no" } }]);
    await settle(db, "w", jobs.slice(2), "done");
    expect(await liveKinds(db)).toEqual(["death", "complete"]);
    expect(await batchOf(db, id)).toMatchObject({ state: "failed", done: 1, dead: 2 });
  });

  test("a retry, a snooze and a release are no ends", async () => {
    const { id } = await openBatch(db, {}, [{ kind: "work" }]);
    for (const verdict of ["retry", "snooze", "release"] as const) {
      await settle(db, "w", await claim(db, "w"), verdict, [
        { error: { message: "no" }, delay_ms: 0, outcome: "failed" },
      ]);
      expect(await stateOf(db, id)).toBe("pending");
      await tick(db);
    }
    await work(db, "w");
    expect(await stateOf(db, id)).toBe("succeeded");
  });

  test("members that are cancelled, expire or are poison end it as well", async () => {
    const a = await openBatch(db, { callbacks: CALLBACKS }, [{ kind: "work" }]);
    const [job] = await db.query<{ id: string }>("select id from fairmill.job");
    await call(db, "cancel_v1($1)", [job!.id]);
    expect(await batchOf(db, a.id)).toMatchObject({ state: "cancelled", cancelled: 1 });

    const b = await openBatch(db, {}, [{ kind: "work", expire_ms: 0 }]);
    await tick(db);
    expect(await batchOf(db, b.id)).toMatchObject({ state: "failed", dead: 1 });

    const c = await openBatch(db, {}, [{ kind: "poison" }]);
    await register(db, "dying");
    await claim(db, "dying", 1, { kinds: ["poison"] });
    await endLease(db, "dying");
    await recover(db, 1000, 1);
    expect(await batchOf(db, c.id)).toMatchObject({ state: "failed", dead: 1 });
  });

  test("one without members is over as soon as upkeep looks", async () => {
    const { id } = await openBatch(db, { callbacks: CALLBACKS });
    expect(await stateOf(db, id)).toBe("pending");
    await tick(db);
    expect(await stateOf(db, id)).toBe("succeeded");
    expect(await liveKinds(db)).toEqual(["success", "complete"]);
  });

  test("a job that is refused refuses the whole batch", async () => {
    await setRule(db, { max_running: 1, when_full: "refuse", per: "kind" });
    await enqueueOne(db, { kind: "limited" });
    const answer = await openBatch(db, {}, [{ kind: "work" }, { kind: "limited" }]);
    expect(answer).toMatchObject({ id: null, refused: { code: "FAIRMILL_ACTIVE_LIMIT" } });
    expect(await db.query("select from fairmill.batch")).toHaveLength(0);
    expect(await liveKinds(db)).toEqual(["limited"]);
  });

  test("a callback that a limit refuses is dead with that reason, and can be retried", async () => {
    await setRule(db, { max_running: 1, when_full: "refuse", per: "kind" });
    await enqueueOne(db, { kind: "limited" });
    const outer = await openBatch(db, { callbacks: { death: { kind: "death" } } }, [{ kind: "other" }]);
    const inner = await openBatch(db, { parent: outer.id, callbacks: { success: { kind: "limited" } } }, [
      { kind: "work" },
    ]);
    const jobs = await claim(db, "w", 1, { kinds: ["work"] });
    await settle(db, "w", jobs, "done");
    const { success_job } = await batchOf(db, inner.id);
    expect(await statesOf(db, [success_job!])).toEqual(["dead"]);
    expect(await batchOf(db, outer.id)).toMatchObject({ dead: 1, state: "pending" });
    expect(await liveKinds(db)).toContain("death");
    await settle(db, "w", await claim(db, "w", 1, { kinds: ["limited"] }), "done");
    expect(await call(db, "retry_v1($1)", [success_job])).not.toBe("no_credits");
    expect(await batchOf(db, outer.id)).toMatchObject({ dead: 0 });
  });
});

describe("of two last members one is the last", () => {
  test("P8: two settles at the same time: the second waits for the first and sees its end", async () => {
    const { id } = await openBatch(db, { callbacks: CALLBACKS }, JOBS.slice(1));
    const [a, b] = await claim(db, "w", 2);
    const [one, two] = [await open(), await open()];
    await one.query("begin");
    await settle(one, "w", [a!], "done");
    const second = settle(two, "w", [b!], "done");
    await waitUntilBlocked(db, two);
    await one.query("commit");
    await second;
    expect(await stateOf(db, id)).toBe("succeeded");
    expect(await liveKinds(db)).toEqual(["success", "complete"]);
  });

  test("the same, and the first is undone: the second is not the last", async () => {
    const { id } = await openBatch(db, { callbacks: CALLBACKS }, JOBS.slice(1));
    const [a, b] = await claim(db, "w", 2);
    const [one, two] = [await open(), await open()];
    await one.query("begin");
    await settle(one, "w", [a!], "done");
    const second = settle(two, "w", [b!], "done");
    await waitUntilBlocked(db, two);
    await one.query("rollback");
    await second;
    expect(await stateOf(db, id)).toBe("pending");
    await settle(db, "w", [a!], "done");
    expect(await liveKinds(db)).toEqual(["success", "complete"]);
  });

  test("two batches inside one another, their last members settled crosswise by two: no deadlock", async () => {
    const outer = await openBatch(db, {}, JOBS.slice(1));
    const inner = await openBatch(db, { parent: outer.id }, JOBS.slice(1));
    const jobs = await claim(db, "w", 4);
    const [one, two] = [await open(), await open()];
    await one.query("begin");
    await settle(one, "w", [jobs[0]!, jobs[2]!], "done");
    const second = settle(two, "w", [jobs[1]!, jobs[3]!], "done");
    await waitUntilBlocked(db, two);
    await one.query("commit");
    await second;
    expect([await stateOf(db, outer.id), await stateOf(db, inner.id)]).toEqual(["succeeded", "succeeded"]);
  });

  test.each(["repeatable read", "serializable"])(
    "a session with an old snapshot (%s) may not look, and is told",
    async (level) => {
      const outer = await openBatch(db);
      await openBatch(db, { parent: outer.id }, JOBS.slice(2));
      await openBatch(db, { parent: outer.id }, JOBS.slice(2));
      const [a, b] = await claim(db, "w", 2);
      const session = await open();
      await session.query(`begin isolation level ${level}`);
      await session.query("select from fairmill.batch");
      await settle(db, "w", [a!], "done");
      // It would still see the other batch inside, and no other would come after it.
      expect(await errorCode(settle(session, "w", [b!], "done"))).toBe("FM003");
      await session.query("rollback");
      await session.query(`begin isolation level ${level}`);
      expect(await errorCode(session.query("select fairmill.check_batches()"))).toBe("FM003");
      await session.query("rollback");
      await settle(db, "w", [b!], "done");
      expect(await stateOf(db, outer.id)).toBe("succeeded");
    },
  );
});

describe("retried members", () => {
  test("F6: a dead one that is retried opens its batch again; success comes then, complete not a second time", async () => {
    const { id } = await openBatch(db, { callbacks: CALLBACKS }, [{ kind: "work" }]);
    await work(db, "w", () => "dead");
    const { complete_job } = await batchOf(db, id);
    await settle(db, "w", await claim(db, "w", 5), "done");
    const [dead] = await db.query<{ id: string }>("select id from fairmill.job_history where state = 'dead'");
    expect(await call(db, "retry_v1($1)", [dead!.id])).toBe("ready");
    expect(await batchOf(db, id)).toMatchObject({ state: "pending", dead: 0 });
    await work(db, "w");
    expect(await batchOf(db, id)).toMatchObject({ state: "succeeded", done: 1, complete_job });
    expect(await liveKinds(db)).toEqual(["success"]);
  });
});

describe("cancelling", () => {
  test("the rest: what waits ends, what runs is told, what comes is refused", async () => {
    const { id } = await openBatch(db, { callbacks: CALLBACKS }, JOBS);
    const inner = await openBatch(db, { parent: id }, JOBS);
    const [running] = await claim(db, "w", 1);
    expect(await call(db, "cancel_batch_v1($1)", [id])).toBe("pending");
    const [row] = await db.query("select * from fairmill.cancel_members_v1($1, 100)", [id]);
    expect(row).toEqual({ cancelled: 6, is_more: false });
    expect((await live(db, running!.id))!["cancel_requested_at"]).not.toBeNull();
    expect((await enqueueLimited(db, [{ kind: "late", batch: id }]))[0]!.refused).toMatchObject({
      code: "FAIRMILL_BATCH_ENDED",
    });
    expect(await stateOf(db, inner.id)).toBe("cancelled");
    await settle(db, "w", [running!], "retry", [{ error: { message: "no" }, delay_ms: 0 }]);
    expect(await batchOf(db, id)).toMatchObject({ state: "cancelled", cancelled: 3 });
    expect(await liveKinds(db)).toEqual(["complete"]);
  });

  test("in portions", async () => {
    const { id } = await openBatch(db, {}, JOBS);
    await call(db, "cancel_batch_v1($1)", [id]);
    const portion = async () => (await db.query("select * from fairmill.cancel_members_v1($1, 2)", [id]))[0];
    expect(await portion()).toEqual({ cancelled: 2, is_more: true });
    expect(await portion()).toEqual({ cancelled: 1, is_more: false });
    expect(await stateOf(db, id)).toBe("cancelled");
  });
});

test("B10: a tree that is over for long enough is removed whole, one that is not stays", async () => {
  const old = await openBatch(db, {}, [{ kind: "work" }]);
  await openBatch(db, { parent: old.id }, [{ kind: "work" }]);
  const young = await openBatch(db, {}, [{ kind: "work" }]);
  await work(db, "w");
  await db.query("update fairmill.batch set ended_at = now() - interval '31 days' where root = $1", [old.id]);
  await db.query("select fairmill.retention()");
  expect((await db.query("select id from fairmill.batch")).map(({ id }) => id)).toEqual([young.id]);
  // A member that outlived it is a job without a batch when it is retried.
  await db.query("update fairmill.job_history set state = 'dead' where batch = $1", [old.id]);
  const [job] = await db.query<{ id: string }>("select id from fairmill.job_history where batch = $1", [old.id]);
  expect(await call(db, "retry_v1($1)", [job!.id])).toBe("ready");
  expect((await live(db, job!.id))!["batch"]).toBeNull();
});
