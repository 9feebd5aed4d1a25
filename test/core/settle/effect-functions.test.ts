// Effects: what a job asks for is written by the settle that ends its run, once, under its fence, all of it or nothing.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import {
  balanceOf,
  type Claimed,
  claim,
  ended,
  endLease,
  enqueue,
  enqueueLimited,
  enqueueOne,
  grant,
  live,
  type NewRow,
  recover,
  register,
  setLimits,
  setRule,
  settle,
  statesOf,
  traces,
} from "../../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const asks = (...jobs: NewRow[]) => ({ effects: { enqueue: jobs.map((job) => ({ kind: "child", ...job })) } });

/** Jobs that run in the hands of a worker. */
async function running(count = 1, worker = "w"): Promise<Claimed[]> {
  for (let n = 0; n < count; n++) await enqueueOne(db);
  await register(db, worker);
  return claim(db, worker, count, { kinds: ["work"] });
}

interface Child {
  readonly id: string;
  readonly state: string;
  readonly tenant: string;
  readonly payload: unknown;
}
const children = (): Promise<Child[]> =>
  db.query<Child & Record<string, unknown>>(
    "select id, state, tenant, payload from fairmill.job where kind = 'child' order by id",
  );

/** The refusals by job that a settle fails with. */
async function refusals(work: Promise<unknown>): Promise<Record<string, { code: string }>> {
  const error = await work.then(
    () => undefined,
    (failure: { code: string; detail: string }) => failure,
  );
  expect(error?.code).toBe("FM020");
  return JSON.parse(error!.detail);
}

describe("effects", () => {
  test("are written with the settle, in the order asked for, and the worker is told the lanes", async () => {
    const [job] = await running();
    const detail = { result: 7, ...asks({ payload: { n: 1 } }, { payload: { n: 2 }, tenant: "acme", priority: 3 }) };
    const [row] = await db.query<{ accepted: number; admitted: unknown[][] }>(
      "select accepted, admitted from fairmill.settle_v1('w', $1, $2, '{done}', $3)",
      [[job!.id], [job!.lease_no], JSON.stringify([detail])],
    );
    expect(await ended(db, job!.id)).toMatchObject({ state: "done", result: 7 });
    const made = await children();
    expect(made).toMatchObject([
      { tenant: "default", state: "ready", payload: { n: 1 } },
      { tenant: "acme", state: "ready", payload: { n: 2 } },
    ]);
    expect(row!.accepted).toBe(1);
    expect(row!.admitted.toSorted()).toEqual([
      ["default", 0, "default", Number(made[0]!.id)],
      ["default", 3, "acme", Number(made[1]!.id)],
    ]);
  });

  test.each([
    ["done", {}, "done"],
    ["cancelled", {}, "cancelled"],
    ["snooze", { delay_ms: 60_000 }, "scheduled"],
  ] as const)("go with %s", async (verdict, detail, state) => {
    const [job] = await running();
    await settle(db, "w", [job!], verdict, [{ ...detail, ...asks({}) }]);
    expect(await statesOf(db, [job!.id])).toEqual([state]);
    expect(await children()).toHaveLength(1);
  });

  test("go with a snooze that became cancelled by a request", async () => {
    const [job] = await running();
    await db.query("select fairmill.cancel_v1($1)", [job!.id]);
    await settle(db, "w", [job!], "snooze", [{ delay_ms: 60_000, ...asks({}) }]);
    expect(await statesOf(db, [job!.id])).toEqual(["cancelled"]);
    expect(await children()).toHaveLength(1);
  });

  test("P3: a repeated settle writes its effects once, and is accepted", async () => {
    for (const verdict of ["done", "cancelled", "snooze"] as const) {
      const [job] = await running(1, verdict);
      const details = [{ delay_ms: 60_000, ...asks({}) }];
      await settle(db, verdict, [job!], verdict, details);
      const before = await traces(db);
      expect(await settle(db, verdict, [job!], verdict, details)).toEqual({ accepted: 1, refused: [] });
      expect(await traces(db)).toEqual(before);
    }
    expect(await children()).toHaveLength(3);
  });

  test.each(["done", "cancelled", "snooze"] as const)(
    "P3: of a %s whose lease was lost are not written",
    async (verdict) => {
      const [job] = await running();
      await endLease(db, "w");
      await recover(db);
      await register(db, "next");
      const [again] = await claim(db, "next");
      const before = await traces(db);
      const details = [{ delay_ms: 60_000, ...asks({}) }];
      expect(await settle(db, "w", [job!], verdict, details)).toEqual({ accepted: 0, refused: [job!.id] });
      expect(await settle(db, "other", [again!], verdict, details)).toEqual({ accepted: 0, refused: [job!.id] });
      expect(await traces(db)).toEqual(before);
      expect(await children()).toEqual([]);
    },
  );

  test("of a group: those whose fence holds are written, a lost one's are not", async () => {
    const [kept, lost] = await running(2);
    await db.query("update fairmill.job set lease_no = lease_no + 1 where id = $1", [lost!.id]);
    const details = [asks({ payload: "kept" }), asks({ payload: "lost" })];
    expect(await settle(db, "w", [kept!, lost!], "done", details)).toEqual({ accepted: 1, refused: [lost!.id] });
    expect(await children()).toMatchObject([{ payload: "kept" }]);
  });

  test("P3: a settle and a recovery at the same moment: effects belong to the one that has the job first", async () => {
    const [job] = await running();
    const recovering = await open();
    await endLease(db, "w");
    await recovering.query("begin");
    await recovering.query("select * from fairmill.recover_v1(10, 3)");
    const settling = await open();
    const answer = settle(settling, "w", [job!], "done", [asks({})]);
    await waitUntilBlocked(db, settling);
    await recovering.query("commit");
    expect(await answer).toEqual({ accepted: 0, refused: [job!.id] });
    expect(await children()).toEqual([]);
  });

  test("wake sleepers of their queues, with the commit", async () => {
    await db.query("select fairmill.register_v1('sleeper', '{stickers}', '1 hour')");
    await db.query("select fairmill.listening_v1('sleeper', true)");
    const [job] = await running();
    const listener = await open();
    await listener.query("listen fairmill");
    await settle(db, "w", [job!], "done", [asks({ queue: "stickers" })]);
    await listener.query("select 1");
    expect(listener.notified).toEqual(["fairmill stickers"]);
  });
});

describe("effects that are refused", () => {
  test("by a rate: nothing of the group is settled, and the error says whose and why", async () => {
    await setLimits(db, "kind", "child", { rate: { limit: 1, per_ms: 3_600_000, at: "enqueue" } });
    const [first, second, third] = await running(3);
    const before = await traces(db);
    const jobs = [first!, second!, third!];
    const told = await refusals(settle(db, "w", jobs, "done", [asks({}), asks({}), { result: 1 }]));
    expect(await traces(db)).toEqual(before);
    expect(told).toMatchObject({ [second!.id]: { code: "FAIRMILL_RATE_LIMIT" } });
    // The others, without the one that was refused.
    expect(await settle(db, "w", [first!, third!], "done", [asks({}), { result: 1 }])).toMatchObject({ accepted: 2 });
    expect(await children()).toHaveLength(1);
  });

  test("by places, by credits, by a unique key: the same", async () => {
    await setRule(db, { max_running: 1, when_full: "refuse" });
    await enqueueLimited(db, [{ key: "k" }]);
    await grant(db, "poor", 1);
    await enqueue(db, [{ kind: "child", unique_key: "u", on_conflict: "keep" }]);
    const jobs = await running(3);
    const before = await traces(db);
    const refused = [
      [{ kind: "limited", key: "k" }, "FAIRMILL_ACTIVE_LIMIT"],
      [{ account: "poor", amount: 2 }, "FAIRMILL_CREDITS_EXHAUSTED"],
      [{ unique_key: "u", on_conflict: "refuse" }, "FAIRMILL_DUPLICATE_JOB"],
    ] as const;
    for (const [i, [ask, code]] of refused.entries()) {
      const told = await refusals(settle(db, "w", [jobs[i]!], "done", [asks({}, ask)]));
      expect(told).toMatchObject({ [jobs[i]!.id]: { code } });
    }
    expect(await traces(db)).toEqual(before);
    expect(await balanceOf(db, "poor")).toEqual([1, 0]);
  });

  test("by their content: an error of the database, and nothing is settled", async () => {
    const [job] = await running();
    const before = await traces(db);
    expect(await errorCode(settle(db, "w", [job!], "done", [asks({ priority: "high" })]))).toBe("22P02");
    expect(await traces(db)).toEqual(before);
  });
});

describe("a job that asks for its successor", () => {
  test("has given up its unique key and its place by then", async () => {
    await setRule(db, { max_running: 1, when_full: "refuse" }, "work");
    const id = await enqueueOne(db, { key: "k", unique_key: "u", unique_until: "settled" });
    await register(db, "w");
    const [job] = await claim(db, "w");
    expect(job!.id).toBe(id);
    const successor = { kind: "work", key: "k", unique_key: "u", unique_until: "settled", on_conflict: "refuse" };
    expect(await settle(db, "w", [job!], "done", [{ effects: { enqueue: [successor] } }])).toMatchObject({
      accepted: 1,
    });
    const rows = await db.query("select state from fairmill.job where kind = 'work'");
    expect(rows).toHaveLength(1);
  });

  test("pays for it: the hold of the first is captured, the successor holds its own", async () => {
    await grant(db, "u1", 5);
    await enqueue(db, [{ kind: "work", account: "u1", amount: 2 }]);
    await register(db, "w");
    const [job] = await claim(db, "w");
    await settle(db, "w", [job!], "done", [asks({ account: "u1", amount: 3 })]);
    expect(await balanceOf(db, "u1")).toEqual([0, 3]);
  });
});

describe("complete_v1", () => {
  const complete = (ask: { query: typeof db.query }, job: Claimed, detail: unknown = null, worker = "w") =>
    ask.query<{ accepted: boolean; refused: { code: string } | null }>(
      "select accepted, refused from fairmill.complete_v1($1, $2, $3, $4)",
      [worker, job.id, job.lease_no, detail && JSON.stringify(detail)],
    );

  test("settles with the transaction, and not without it", async () => {
    const [job] = await running();
    const session = await open();
    await session.query("begin");
    expect(await complete(session, job!, { result: 1, ...asks({}) })).toEqual([{ accepted: true, refused: null }]);
    await session.query("rollback");
    expect(await live(db, job!.id)).toMatchObject({ state: "running", lease_no: job!.lease_no });
    expect(await children()).toEqual([]);
    await session.query("begin");
    expect(await complete(session, job!, { result: 1, ...asks({}) })).toEqual([{ accepted: true, refused: null }]);
    await session.query("commit");
    expect(await ended(db, job!.id)).toMatchObject({ state: "done", result: 1 });
    expect(await children()).toHaveLength(1);
  });

  test("P3: a lost lease is not accepted, and effects that are refused are told", async () => {
    const [job] = await running();
    expect(await complete(db, job!, asks({}), "other")).toEqual([{ accepted: false, refused: null }]);
    await grant(db, "poor", 1);
    expect(await complete(db, job!, asks({ account: "poor", amount: 2 }))).toMatchObject([
      { accepted: false, refused: { code: "FAIRMILL_CREDITS_EXHAUSTED" } },
    ]);
    expect(await live(db, job!.id)).toMatchObject({ state: "running" });
    expect(await children()).toEqual([]);
  });

  test.each(["repeatable read", "serializable"])("is refused in a %s transaction", async (level) => {
    const [job] = await running();
    const session = await open();
    await session.query(`begin isolation level ${level}`);
    expect(await errorCode(complete(session, job!))).toBe("FM021");
    await session.query("rollback");
    expect(await live(db, job!.id)).toMatchObject({ state: "running" });
  });
});
