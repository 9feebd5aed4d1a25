// Rates at start: lanes are held back until their rate opens, and jobs of a key are put back until the moment they may start.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimNo } from "../support/lease-no.js";
import {
  call,
  claim,
  claimUnderLimits,
  enqueue,
  enqueueKeyed,
  enqueueLimited,
  fill,
  live,
  register,
  setLimits,
  setRule,
  settle,
  statesOf,
} from "../support/sql/calls.js";
import { useSessions } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const HOUR = 3_600_000;

describe("at start, of a tenant, a queue or a kind", () => {
  test.each([
    ["tenant", "default"],
    ["queue", "default"],
    ["kind", "work"],
  ] as const)("B7 I7: claims of a %s never exceed its rate, and are told when it opens", async (scope, name) => {
    await fill(db, 50);
    await setLimits(db, scope, name, { rate: { limit: 7, per_ms: HOUR } });
    const sessions = await Promise.all(Array.from({ length: 8 }, () => open()));
    const claims = await Promise.all(
      sessions.map((session, n) => claimUnderLimits(session, `w${n}`, [{ tenant: "default", quantum: 3 }], 3)),
    );
    expect(claims.flatMap(({ jobs }) => jobs)).toHaveLength(7);
    const { jobs, told } = await claimUnderLimits(db, "w");
    expect(jobs).toEqual([]);
    expect(told!.limits).toMatchObject([{ scope, name, why: "rate" }]);
    expect(told!.limits[0]!.open_in_ms).toBeGreaterThan(HOUR * 0.99);
    expect(told!.limits[0]!.open_in_ms).toBeLessThan(HOUR * 1.01);
    // Settled and set again: what was spent counts on.
    await setLimits(db, scope, name, { rate: { limit: 7, per_ms: HOUR } });
    expect((await claimUnderLimits(db, "w")).jobs).toEqual([]);
    await setLimits(db, scope, name, { rate: { limit: 9, per_ms: HOUR } });
    expect((await claimUnderLimits(db, "w")).jobs).toHaveLength(2);
    await setLimits(db, scope, name, { rate: null });
    expect((await claimUnderLimits(db, "w")).jobs).toHaveLength(41);
  });

  test("E10: a uniform rate starts one a claim, and tells when the next may", async () => {
    await fill(db, 5);
    await setLimits(db, "queue", "default", { rate: { limit: 6, per_ms: 60_000, how: "uniform" } });
    const { jobs, told } = await claimUnderLimits(db, "w");
    expect(jobs).toHaveLength(1);
    expect(told!.limits).toMatchObject([{ why: "rate", open_in_ms: 10_000 }]);
    expect((await claimUnderLimits(db, "w")).jobs).toEqual([]);
    await setLimits(db, "queue", "default", { rate: { limit: 6, per_ms: 1, how: "uniform" } });
    expect((await claimUnderLimits(db, "w")).jobs).toHaveLength(1);
  });

  test("a claim that does not commit has spent nothing, and one without memory is told nothing of what was held", async () => {
    await fill(db, 5);
    await setLimits(db, "tenant", "default", { rate: { limit: 2, per_ms: HOUR } });
    const session = await open();
    await register(db, "w");
    await session.query("begin");
    expect(await claim(session, "w", 10)).toHaveLength(2);
    await session.query("rollback");
    expect(await claim(db, "w", 10)).toHaveLength(2);
    expect(await claim(db, "w", 10)).toEqual([]);
  });

  test("a claim that spends a rate is durable, one that does not need not be", async () => {
    await fill(db, 5);
    const session = await open();
    await session.query("set synchronous_commit = on");
    const commit = async () => {
      await session.query("begin");
      await session.query(
        "select * from fairmill.claim_lanes_v1('w', '{default}', '{0}', '{default}', '{0}', '{1}', null, 1, durable => false)",
      );
      const [{ synchronous_commit } = { synchronous_commit: "" }] = await session.query<{ synchronous_commit: string }>(
        "show synchronous_commit",
      );
      await session.query("commit");
      return synchronous_commit;
    };
    await register(db, "w");
    expect(await commit()).toBe("off");
    await setLimits(db, "tenant", "default", { max_running: 100 });
    expect(await commit()).toBe("off");
    await setLimits(db, "tenant", "default", { rate: { limit: 100, per_ms: HOUR } });
    expect(await commit()).toBe("on");
    await setLimits(db, "tenant", "default", { rate: null });
    await setRule(db, { per: "kind", rate: { limit: 100, per_ms: HOUR } }, "work");
    // Those that were enqueued before there was a rule have none.
    expect(await commit()).toBe("off");
    await db.query("delete from fairmill.job where state = 'ready'");
    await enqueue(db, [{ kind: "work" }]);
    expect(await commit()).toBe("on");
  });
});

describe("at start, of a key", () => {
  const runAts = async (ids: readonly string[]) =>
    (
      await db.query<{ ms: number }>(
        "select extract(epoch from run_at - clock_timestamp())::float8 * 1000 as ms from unnest($1::bigint[]) with ordinality as g (id, n) join fairmill.job using (id) order by n",
        [ids],
      )
    ).map(({ ms }) => ms);
  const due = (ids: readonly string[]) => db.query("update fairmill.job set run_at = now() where id = any ($1)", [ids]);

  test("C3: a job over it is rate-limited: scheduled one after the other, the attempt unspent", async () => {
    await setRule(db, { rate: { limit: 2, per_ms: HOUR } });
    const ids = await enqueueKeyed(db, 6);
    const others = await enqueueKeyed(db, 1, { key: "another" });
    const { jobs, told } = await claimUnderLimits(db, "w");
    expect(jobs.map(({ id }) => id).toSorted()).toEqual([ids[0], ids[1], others[0]].toSorted());
    expect(told).toMatchObject({ limits: [], late: [[0, "default", 4]] });
    expect(told!.due_in_ms! / HOUR).toBeCloseTo(1, 1);
    const moments = await runAts(ids.slice(2));
    for (const [n, ms] of moments.entries()) expect(ms / HOUR).toBeCloseTo(1 + n / 2, 1);
    for (const id of ids.slice(2))
      expect(await live(db, id)).toMatchObject({
        state: "scheduled",
        attempt: 0,
        lease_no: claimNo(0),
        rate_limited_times: 1,
        rate_limited: true,
      });
    await settle(
      db,
      "w",
      jobs.toSorted((a, b) => Number(a.id) - Number(b.id)),
      "done",
    );
  });

  test.each([{ kinds: ["limited", "other"] }, { kinds: ["limited"] }])(
    "keys of kinds $kinds, with more and fewer jobs, in one claim: to each what it started is spent",
    async ({ kinds }) => {
      for (const kind of kinds) await setRule(db, { rate: { limit: 5, per_ms: HOUR } }, kind);
      // The first round makes the meters, the second finds them, the third finds some of them full.
      for (let round = 1; round <= 3; round++) {
        for (const [n, key] of ["a", "b", "c", "d", "e", "f"].entries())
          await enqueueKeyed(db, 1 + (n % 3), { key, kind: kinds[n % kinds.length] });
        await claimUnderLimits(db, "w");
        expect(
          await db.query(
            `select m.name, (select sum(s)::integer from unnest(m.spent) s) as spent from fairmill.meter m where m.scope = 'key' order by m.name`,
          ),
        ).toEqual(
          await db.query(
            `select limit_key as name, count(*) filter (where state = 'running')::integer as spent from fairmill.job group by limit_key order by limit_key`,
          ),
        );
      }
      expect(await db.query("select count(*)::integer as late from fairmill.job where rate_limited")).toEqual([
        { late: 10 },
      ]);
    },
  );

  test("keys of two kinds with a job each in one claim: each by the rate of its kind", async () => {
    await setRule(db, { rate: { limit: 5, per_ms: HOUR } });
    await setRule(db, { rate: { limit: 2, per_ms: HOUR } }, "other");
    const ids: string[] = [];
    for (let round = 1; round <= 3; round++) {
      for (const kind of ["limited", "other"]) ids.push(...(await enqueueKeyed(db, 1, { kind })));
      await claimUnderLimits(db, "w");
    }
    expect(await statesOf(db, ids)).toEqual(["running", "running", "running", "running", "running", "scheduled"]);
  });

  test("C3: newcomers do not overtake those that were put back, and who comes back too early keeps its turn", async () => {
    await setRule(db, { rate: { limit: 2, per_ms: HOUR } });
    const ids = await enqueueKeyed(db, 4);
    await claimUnderLimits(db, "w");
    // Room, and one of the two waits still: it goes first.
    await db.query("update fairmill.meter set spent_at = null, spent = null");
    const newcomers = await enqueueKeyed(db, 1);
    expect((await claimUnderLimits(db, "w")).jobs).toEqual([]);
    const [third, fourth, fifth] = await runAts([ids[2]!, ids[3]!, newcomers[0]!]);
    expect(third).toBeLessThan(fourth!);
    expect(fourth).toBeLessThan(fifth!);
    // The first of them comes back, and there is room: it starts.
    await due([ids[2]!]);
    await call(db, "promote_v1()");
    expect((await claimUnderLimits(db, "w")).jobs.map(({ id }) => id)).toEqual([ids[2]]);
    // The next two come back too early for the second of them: that one is still before the newcomer, not behind.
    await due([ids[3]!]);
    await call(db, "promote_v1()");
    await db.query("update fairmill.meter set spent = '{2}'");
    expect((await claimUnderLimits(db, "w")).jobs).toEqual([]);
    const [again, behind] = await runAts([ids[3]!, newcomers[0]!]);
    expect(again).toBeLessThan(behind!);
    expect(await live(db, ids[3]!)).toMatchObject({ rate_limited_times: 2, attempt: 0 });
  });

  test("C3: the slot of the key is kept while a rate delays the job, and no other job starts with it", async () => {
    await setRule(db, { max_running: 1, rate: { limit: 1, per_ms: HOUR } });
    const ids = await enqueueKeyed(db, 3);
    await settle(db, "w", (await claimUnderLimits(db, "w")).jobs, "done");
    expect((await claimUnderLimits(db, "w")).jobs).toEqual([]);
    expect(await statesOf(db, ids)).toEqual(["done", "scheduled", "blocked"]);
    expect(await live(db, ids[1]!)).toMatchObject({ slot: 1, rate_limited: true });
    await db.query("update fairmill.meter set spent_at = null, spent = null");
    await due([ids[1]!]);
    await call(db, "promote_v1()");
    const { jobs } = await claimUnderLimits(db, "w");
    expect(jobs.map(({ id }) => id)).toEqual([ids[1]]);
    expect(await live(db, ids[1]!)).toMatchObject({ rate_limited: null, attempt: 1, rate_limited_times: 1 });
  });

  test("who is put back by its key, or let go because lanes share a tenant, spends nothing of the tenant's rate", async () => {
    await setRule(db, { rate: { limit: 1, per_ms: HOUR } });
    await setLimits(db, "tenant", "default", { rate: { limit: 5, per_ms: HOUR } });
    const spent = async () =>
      (await db.query<{ spent: number[] }>("select spent from fairmill.meter where scope = 'tenant'"))[0]!.spent;
    await enqueueKeyed(db, 3);
    expect((await claimUnderLimits(db, "w")).jobs).toHaveLength(1);
    expect(await spent()).toEqual([1]);
    await db.query("update fairmill.meter set spent_at = null, spent = null where scope = 'tenant'");
    await fill(db, 9);
    await fill(db, 9, { priority: 1 });
    const lanes = [0, 1].map((priority) => ({ tenant: "default", priority, quantum: 9 }));
    expect((await claimUnderLimits(db, "w", lanes, 18)).jobs).toHaveLength(5);
    expect(await spent()).toEqual([5]);
  });

  test("a claim that spends the rate of one key is durable, though another key of it has none left", async () => {
    await setRule(db, { rate: { limit: 1, per_ms: HOUR } });
    await enqueueKeyed(db, 1, { key: "full" });
    await claimUnderLimits(db, "w");
    await enqueueKeyed(db, 1, { key: "full" });
    await enqueueKeyed(db, 1, { key: "free" });
    const session = await open();
    await session.query("set synchronous_commit = on");
    await session.query("begin");
    const claimed = await session.query(
      "select * from fairmill.claim_lanes_v1('w', '{default}', '{0}', '{default}', '{0}', '{5}', null, 5, durable => false)",
    );
    expect(claimed.filter(({ id }) => id !== null)).toHaveLength(1);
    expect(await session.query("show synchronous_commit")).toEqual([{ synchronous_commit: "on" }]);
    await session.query("commit");
  });

  test("a job that waits for a retry was not put back: newcomers need not wait for it", async () => {
    await setRule(db, { rate: { limit: 3, per_ms: HOUR } });
    const [first] = await enqueueKeyed(db, 1);
    await settle(db, "w", (await claimUnderLimits(db, "w")).jobs, "retry", [{ delay_ms: HOUR }]);
    expect(await live(db, first!)).toMatchObject({ state: "scheduled", rate_limited: null });
    await enqueueKeyed(db, 1);
    expect((await claimUnderLimits(db, "w")).jobs).toHaveLength(1);
  });

  test(`I7: four who claim and promote at once: no window of a key holds more than its rate, and all start`, async () => {
    await setRule(db, { rate: { limit: 5, per_ms: 600 } });
    await enqueueLimited(
      db,
      Array.from({ length: 60 }, (_, n) => ({ key: `k${n % 2}` })),
    );
    const sessions = await Promise.all(Array.from({ length: 4 }, () => open()));
    const started: { id: string }[] = [];
    await Promise.all(
      sessions.map(async (session, n) => {
        for (;;) {
          await call(session, "promote_v1()");
          const { jobs } = await claimUnderLimits(session, `w${n}`, [{ tenant: "default", quantum: 4 }], 4);
          started.push(...jobs);
          if (started.length === 60) return;
        }
      }),
    );
    const rows = await db.query<{ key: string; at: number }>(
      "select key, extract(epoch from started_at)::float8 * 1000 as at from fairmill.job order by started_at",
    );
    for (const key of ["k0", "k1"]) {
      const at = rows.filter((row) => row.key === key).map((row) => row.at);
      expect(at).toHaveLength(30);
      for (let n = 5; n < at.length; n++) expect(at[n]! - at[n - 5]!).toBeGreaterThanOrEqual(600 - 0.01);
    }
  });
});
