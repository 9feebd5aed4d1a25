// Slots of keys: a bounded number of jobs of a key are ready or running, the others are blocked, and a job that frees a slot passes it on.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import {
  type Claimed,
  call,
  claimUnderLimits,
  endLease,
  enqueueKeyed,
  enqueueLimited,
  live,
  recover,
  rescanNo,
  setRule,
  settle,
  statesOf,
  tick,
  type VerdictName,
} from "../support/sql/calls.js";
import { errorCode } from "../support/sql/sessions.js";

const db = useDatabase();

const claimOne = async (worker = "w"): Promise<Claimed> => (await claimUnderLimits(db, worker, undefined, 1)).jobs[0]!;

describe("who waits for a place", () => {
  test("B5: at most max_running jobs of a key are ready or running, the others are blocked and not claimed", async () => {
    await setRule(db, { max_running: 2 });
    const ids = await enqueueKeyed(db, 5);
    const others = await enqueueKeyed(db, 1, { key: "another" });
    expect(await statesOf(db, ids)).toEqual(["ready", "ready", "blocked", "blocked", "blocked"]);
    expect(await statesOf(db, others)).toEqual(["ready"]);
    const { jobs } = await claimUnderLimits(db, "w");
    expect(jobs.map(({ id }) => id).toSorted()).toEqual([ids[0], ids[1], others[0]].toSorted());
  });

  test("B5: the same for many jobs of one call, of several keys, some of them for later", async () => {
    await setRule(db, { max_running: 2 });
    const stored = await enqueueLimited(db, [
      { key: "a" },
      { key: "b" },
      { key: "a", delay_ms: 60_000 },
      { key: "a" },
      { key: "a" },
      {},
      { key: "b" },
    ]);
    expect(
      await statesOf(
        db,
        stored.map(({ id }) => id!),
      ),
    ).toEqual(["ready", "ready", "scheduled", "ready", "blocked", "ready", "ready"]);
  });

  test("a limit counts per key or per tenant, as the rule says; for a kind no job holds a slot", async () => {
    const jobs = [{ key: "a" }, { key: "b" }, { key: "a", tenant: "t" }, { tenant: "t" }, { tenant: "u" }];
    const states = async (per: string) => {
      await setRule(db, null);
      await db.query("delete from fairmill.job");
      await setRule(db, { max_running: 1, per });
      return statesOf(
        db,
        (await enqueueLimited(db, jobs)).map(({ id }) => id!),
      );
    };
    expect(await states("key")).toEqual(["ready", "ready", "ready", "ready", "ready"]);
    expect(await states("tenant")).toEqual(["ready", "blocked", "ready", "blocked", "ready"]);
    expect(await states("kind")).toEqual(["ready", "ready", "ready", "ready", "ready"]);
    expect(await db.query("select from fairmill.job where slot is not null")).toEqual([]);
  });

  test("places are passed on in order: higher priority first, then the older", async () => {
    await setRule(db, { max_running: 1 });
    const [first, low, high, low2] = [
      ...(await enqueueKeyed(db, 2)),
      ...(await enqueueKeyed(db, 1, { priority: 5 })),
      ...(await enqueueKeyed(db, 1)),
    ];
    const order: string[] = [first!];
    for (let n = 0; n < 3; n++) {
      const running = (
        await claimUnderLimits(db, "w", [
          { tenant: "default", priority: 5 },
          { tenant: "default", priority: 0 },
        ])
      ).jobs;
      expect(running.map(({ id }) => id)).toEqual([order.at(-1)]);
      const [{ admitted } = { admitted: null }] = await db.query<{ admitted: [string, number, string, number][] }>(
        "select admitted from fairmill.settle_v1('w', $1, $2, '{done}')",
        [[running[0]!.id], [running[0]!.lease_no]],
      );
      const next = [high, low, low2][n]!;
      expect(admitted).toEqual([["default", n === 0 ? 5 : 0, "default", Number(next)]]);
      order.push(next);
    }
  });

  const GIVES_UP: [VerdictName, boolean][] = [
    ["done", true],
    ["dead", true],
    ["cancelled", true],
    ["retry", true],
    ["snooze", true],
    ["release", false],
  ];
  test.each(GIVES_UP)("a settle as %s passes the place on: %s", async (verdict, passes) => {
    await setRule(db, { max_running: 1 });
    const ids = await enqueueKeyed(db, 2);
    await settle(db, "w", [await claimOne()], verdict, [{ delay_ms: 60_000 }]);
    expect((await statesOf(db, ids))[1]).toBe(passes ? "ready" : "blocked");
    const [{ slots } = { slots: [] }] = await db.query<{ slots: string[] }>(
      "select array_agg(id) as slots from fairmill.job where slot is not null",
    );
    expect(slots).toEqual([passes ? ids[1] : ids[0]]);
  });

  test("so does a cancel of a ready job, one that runs when it heeds it, expiry, and poison; each wakes and marks the queue", async () => {
    await setRule(db, { max_running: 1 });
    const ids = await enqueueKeyed(db, 6);
    let marks = await rescanNo(db);
    const passedTo = async (n: number) => {
      expect((await statesOf(db, ids)).slice(n)).toEqual(["ready", ...ids.slice(n + 1).map(() => "blocked")]);
      expect(await rescanNo(db)).toBeGreaterThan(marks);
      marks = await rescanNo(db);
    };
    await call(db, "cancel_v1($1)", [ids[0]]);
    await passedTo(1);
    await db.query("update fairmill.job set expire_at = now() - interval '1 s' where id = $1", [ids[1]]);
    await call(db, "expire_v1()");
    await passedTo(2);
    await claimOne("dies");
    await endLease(db, "dies");
    expect(await recover(db, 100, 1)).toEqual({ recovered: 0, ended: 1 });
    await passedTo(3);
    await claimOne("dies too");
    await call(db, "cancel_v1($1)", [ids[3]]);
    await endLease(db, "dies too");
    expect(await recover(db)).toEqual({ recovered: 0, ended: 1 });
    await passedTo(4);
    await db.query("update fairmill.job set expire_at = now() - interval '1 s' where id = $1", [ids[4]]);
    await tick(db);
    await passedTo(5);
  });

  test("a job that is recovered or released keeps its slot", async () => {
    await setRule(db, { max_running: 1 });
    const ids = await enqueueKeyed(db, 2);
    await claimOne("dies");
    await endLease(db, "dies");
    expect(await recover(db)).toEqual({ recovered: 1, ended: 0 });
    expect(await statesOf(db, ids)).toEqual(["ready", "blocked"]);
    await claimOne();
    expect(await call(db, "release_unknown_v1('w', '{}')")).toBe(1);
    expect(await statesOf(db, ids)).toEqual(["ready", "blocked"]);
    expect(await live(db, ids[0]!)).toMatchObject({ slot: 1 });
  });

  test("a retry comes back through the same door: blocked while another holds the place", async () => {
    await setRule(db, { max_running: 1 });
    const ids = await enqueueKeyed(db, 2);
    await settle(db, "w", [await claimOne()], "retry", [{ delay_ms: 0 }]);
    expect(await call(db, "promote_v1()")).toBe(1);
    expect(await statesOf(db, ids)).toEqual(["blocked", "ready"]);
    await settle(db, "w", [await claimOne()], "done");
    expect(await statesOf(db, ids)).toEqual(["ready", "done"]);
  });

  test("a job that is run again by hand waits for its slot like any other", async () => {
    await setRule(db, { max_running: 1 });
    const ids = await enqueueKeyed(db, 2);
    await call(db, "cancel_v1($1)", [ids[0]]);
    expect(await call(db, "retry_v1($1)", [ids[0]])).toBe("blocked");
    expect(await statesOf(db, ids)).toEqual(["blocked", "ready"]);
    await call(db, "cancel_v1($1)", [ids[1]]);
    expect(await statesOf(db, ids)).toEqual(["ready", "cancelled"]);
  });

  test("a limit that is raised, lowered or taken away is heeded: a lowered one passes nothing on until fewer are active", async () => {
    await setRule(db, { max_running: 1 });
    const ids = await enqueueKeyed(db, 6);
    await setRule(db, { max_running: 3 });
    await tick(db);
    expect(await statesOf(db, ids)).toEqual(["ready", "ready", "ready", "blocked", "blocked", "blocked"]);
    await setRule(db, { max_running: 1 });
    await tick(db);
    // The place with the lowest number becomes free, and two above the limit are still held.
    await call(db, "cancel_v1($1)", [ids[0]]);
    await call(db, "cancel_v1($1)", [ids[1]]);
    expect((await statesOf(db, ids)).slice(2)).toEqual(["ready", "blocked", "blocked", "blocked"]);
    expect(await statesOf(db, await enqueueKeyed(db, 1))).toEqual(["blocked"]);
    await call(db, "cancel_v1($1)", [ids[2]]);
    expect((await statesOf(db, ids)).slice(3)).toEqual(["ready", "blocked", "blocked"]);
    await setRule(db, null);
    await tick(db);
    expect((await statesOf(db, ids)).slice(3)).toEqual(["ready", "ready", "ready"]);
  });

  test("more than a thousand that are blocked by a limit that is gone come through, a thousand a round", async () => {
    await setRule(db, { max_running: 1 });
    await enqueueLimited(
      db,
      Array.from({ length: 2_500 }, () => ({ key: "k" })),
    );
    await setRule(db, null);
    for (let n = 0; n < 3; n++) await tick(db);
    expect(await db.query("select from fairmill.job where state = 'blocked'")).toEqual([]);
  });

  test("a key that no index could hold is refused with a reason", async () => {
    await setRule(db, { max_running: 1 });
    expect(await errorCode(enqueueLimited(db, [{ key: "k".repeat(2_000) }]))).toBe("FM001");
    expect(await errorCode(setRule(db, { max_runing: 1 }))).toBe("FM001");
    expect(await errorCode(setRule(db, { rate: { limit: 1 } }))).toBe("FM001");
  });
});
