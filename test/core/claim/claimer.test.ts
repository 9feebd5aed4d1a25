// The claimer against a real database: what its rings and floors do not know is found all the same.
import { describe, expect, onTestFinished, test } from "vitest";
import { Bus } from "../../../src/base/bus.js";
import { Claimer, type ClaimNews } from "../../../src/core/claim/claimer.js";
import { Database } from "../../../src/db/database.js";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import { TcpProxy } from "../../support/tcp-proxy.js";
import { claimerRig, numbers, RESCAN_MS, standingClock, WORKER } from "./rig.js";

const db = useDatabase();
const { newClaimer, put } = claimerRig(db);

test("A1 A2: a claimed job is running, belongs to the worker, and carries its fence", async () => {
  const { claimer } = await newClaimer();
  const [id] = await put(1, { tenant: "acme", priority: 3 });
  const [claim] = await claimer.claim(WORKER, new Map([["default", 5]]));
  expect(claim).toMatchObject({
    id: String(id),
    leaseNo: claimNo(1),
    worker: WORKER,
    queue: "default",
    priority: 3,
    tenant: "acme",
    kind: "job",
    key: null,
    attempt: 1,
    crashes: 0,
    maxAttempts: 3,
    payload: {},
  });
  const [row] = await db.query("select state, worker, lease_no, attempt from fairmill.job");
  expect(row).toEqual({ state: "running", worker: WORKER, lease_no: claimNo(1), attempt: 1 });
});

test("no more is claimed than wanted, and when all is gone no lane is asked any more", async () => {
  const { claimer, claim } = await newClaimer();
  await put(7);
  expect(await claim(5)).toHaveLength(5);
  expect(claimer.hasWork()).toBe(true);
  expect(await claim(5)).toHaveLength(2);
  expect(await claim(5)).toEqual([]);
  expect(claimer.hasWork()).toBe(false);
  claimer.markStale();
  expect(claimer.hasWork()).toBe(true);
});

test("a lane in which a job arrives while a claim asks it in vain keeps its turn", async () => {
  const { claimer, claim } = await newClaimer();
  const [first, second] = await put(2, { tenant: "b" });
  expect(await claim(1)).toEqual([first]);
  await db.query("delete from fairmill.job where id = $1", [second]);
  const claiming = claim(5);
  // Told of as by a notification, which comes before the answer of a claim that could not see the job yet.
  claimer.arrived("default", { priority: 0, tenant: "b" });
  expect(await claiming).toEqual([]);
  expect(claimer.hasWork()).toBe(true);
  const [third] = await put(1, { tenant: "b" });
  expect(await claim(5)).toEqual([third]);
});

describe("ids below the floor", () => {
  test("a late commit with a lower id is found when the worker is told to look", async () => {
    const { claimer, claim, claimSoon } = await newClaimer();
    const late = await db.pool.connect();
    await late.query("begin");
    const { rows } = await late.query(
      "insert into fairmill.job (queue, tenant, kind, state, payload) values ('default', 'a', 'job', 'ready', '{}') returning id",
    );
    const lower = Number(rows[0].id);
    const [higher] = await put(1);
    expect(higher).toBeGreaterThan(lower);
    expect(await claim(5)).toEqual([higher]);
    await late.query("commit");
    late.release();
    claimer.markStale();
    expect(await claimSoon(5)).toEqual([lower]);
  });

  test("a late commit with a lower id is found while its lane keeps the worker busy, within the time of a rescan", async () => {
    const { clock, claim } = await newClaimer();
    const late = await db.pool.connect();
    await late.query("begin");
    const { rows } = await late.query(
      "insert into fairmill.job (queue, tenant, kind, state, payload) values ('default', 'a', 'job', 'ready', '{}') returning id",
    );
    const lower = Number(rows[0].id);
    await put(1_000);
    await claim(5);
    await claim(5);
    await late.query("commit");
    late.release();
    // The floor of the lane lies above it.
    expect(await claim(5)).not.toContain(lower);
    clock.pass(RESCAN_MS);
    expect(await claim(5)).toContain(lower);
  });

  /** A busy lane whose floor has left this job behind. */
  async function leftBehind(state: "scheduled" | "released" | "retried") {
    const rig = await newClaimer();
    await db.query("insert into fairmill.queue (name, rescan_no) values ('default', 7)");
    const [old] = await put(1);
    await put(1_000);
    if (state === "scheduled")
      await db.query(
        "update fairmill.job set state = 'scheduled', aside = 'scheduled', run_at = now() + interval '1 hour' where id = $1",
        [old],
      );
    const first = await rig.claim(5);
    expect(first.includes(old!)).toBe(state !== "scheduled");
    // By now the marks are known and nothing is stale.
    await rig.claim(5);
    await rig.claim(5);
    return { ...rig, old: old! };
  }

  test("a promoted job is found, because the queue's rescan mark was raised", async () => {
    const { old, claimSoon } = await leftBehind("scheduled");
    await db.query("update fairmill.job set run_at = now() where id = $1", [old]);
    await db.query("select fairmill.promote_v1()");
    // Behind those that have been due for longer.
    expect(await claimSoon(1_000)).toContain(old);
  });

  test("a scheduled job that is run by hand is found", async () => {
    const { old, claimSoon } = await leftBehind("scheduled");
    await db.query("select fairmill.retry_v1($1)", [old]);
    // Behind those that have been due for longer.
    expect(await claimSoon(1_000)).toContain(old);
  });

  test("a released job is found", async () => {
    const { old, claimSoon } = await leftBehind("released");
    await db.query(
      "select fairmill.settle_v1($1, array[$2::bigint], (select array_agg(j.lease_no) from fairmill.job j where j.id = $2), '{release}')",
      [WORKER, old],
    );
    expect(await claimSoon(5)).toContain(old);
  });

  test("a dead job that is run again is found", async () => {
    const { old, claimSoon } = await leftBehind("retried");
    await db.query(
      "select fairmill.settle_v1($1, array[$2::bigint], (select array_agg(j.lease_no) from fairmill.job j where j.id = $2), '{dead}')",
      [WORKER, old],
    );
    await db.query("select fairmill.retry_v1($1)", [old]);
    // Behind those that have been due for longer.
    expect(await claimSoon(1_000)).toContain(old);
  });

  test("the job of a dead worker is found", async () => {
    const { old, claimSoon } = await leftBehind("released");
    await db.query("update fairmill.job set worker = 'nobody' where id = $1", [old]);
    await db.query("insert into fairmill.claim_list (worker, list_no, ids) values ('nobody', 1, array[$1::bigint])", [
      old,
    ]);
    await db.query("select fairmill.recover_v1()");
    expect(await claimSoon(5)).toContain(old);
  });
});

describe("news", () => {
  test("bring a new lane into the ring without a scan, at the second claim after it came", async () => {
    const proxy = await TcpProxy.before(db.url);
    const { claim, claimSoon } = await newClaimer({ url: proxy.url });
    await put(1_000);
    await claim(4);
    await claim(4);
    const scans = proxy.count("from fairmill.lanes_v1");
    const [late] = await put(1, { tenant: "late" });
    expect(await claimSoon(4)).toContain(late);
    expect(proxy.count("from fairmill.lanes_v1")).toBe(scans);
  });

  test("of more jobs than they list make the claimer look at all lanes", async () => {
    const { claim, claimSoon } = await newClaimer();
    await put(3_000);
    await claim(4);
    await claim(4);
    for (let i = 0; i < 5; i++) await put(100);
    const [late] = await put(1, { tenant: "late" });
    expect([...(await claimSoon(4)), ...(await claimSoon(4))]).toContain(late);
  });

  test("of another queue do not concern this one", async () => {
    const { claim, claimer } = await newClaimer();
    await put(10);
    await claim(5);
    await put(10, { queue: "other", tenant: "b" });
    await claim(5);
    await claim(5);
    expect(await claim(5)).toEqual([]);
    expect(claimer.hasWork()).toBe(false);
  });
});

test("kinds that this worker does not know are left alone, also when they stand before its own", async () => {
  const { claim } = await newClaimer({ kinds: ["job", "third"] });
  const theirs = await put(20, { kind: "theirs" });
  const own = await put(2);
  const third = await put(1, { kind: "third", tenant: "b" });
  expect((await claim(10)).sort((a, b) => a - b)).toEqual([...own, ...third]);
  const rows = await db.query("select id, attempt, lease_no from fairmill.job where state = 'ready' order by id");
  expect(rows.map(({ id }) => Number(id))).toEqual(theirs);
  expect(rows.every((row) => row["attempt"] === 0 && row["lease_no"] === "0")).toBe(true);
});

test("several queues each get what is wanted of them", async () => {
  const { claimer } = await newClaimer({ queues: ["x", "y", "z"] });
  for (const queue of ["x", "y", "z"]) await put(10, { queue });
  const claims = await claimer.claim(
    WORKER,
    new Map([
      ["x", 2],
      ["y", 4],
    ]),
  );
  expect(claims.map(({ queue }) => queue).sort()).toEqual(["x", "x", "y", "y", "y", "y"]);
  expect(["x", "y", "z"].map((queue) => claimer.hasWork(queue))).toEqual([true, true, true]);
});

describe("I9 C2: shares", () => {
  test.each([6, 30, 500])(
    "claims of %d give three backlogged lanes the same, at most one batch apart",
    async (batch) => {
      const { claimer } = await newClaimer();
      for (const tenant of ["a", "b", "c"]) await put(2_000, { tenant });
      const served = new Map<string, number>();
      const seen = new Set<string>();
      for (let i = 0; i < 9; i++) {
        const claims = await claimer.claim(WORKER, new Map([["default", batch]]));
        expect(claims).toHaveLength(batch);
        for (const { id, tenant } of claims) {
          expect(seen.has(id)).toBe(false);
          seen.add(id);
          served.set(tenant, (served.get(tenant) ?? 0) + 1);
        }
        const counts = [...served.values()];
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(batch);
      }
      const counts = [...served.values()];
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(Math.ceil(batch / 3) + 1);
    },
  );

  test("FAIR2: within a claim the lanes take turns, and each lane keeps its order", async () => {
    const { claimer } = await newClaimer();
    await put(10, { tenant: "a" });
    await put(2, { tenant: "b" });
    await put(10, { tenant: "c" });
    const claims = await claimer.claim(WORKER, new Map([["default", 9]]));
    expect(
      claims
        .map(({ tenant }) => tenant)
        .slice(0, 3)
        .sort(),
    ).toEqual(["a", "b", "c"]);
    for (const tenant of ["a", "b", "c"]) {
      const ids = claims.filter((claim) => claim.tenant === tenant).map(({ id }) => Number(id));
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    }
  });

  test("12,000 lanes of one job each, more than a scan lists at once, are all served", async () => {
    const { claimer } = await newClaimer();
    await db.query(
      `insert into fairmill.job (queue, tenant, kind, state, payload)
       select 'default', 't' || n, 'job', 'ready', '{}' from generate_series(1, 12000) n`,
    );
    const seen = new Set<string>();
    for (let turns = 0; claimer.hasWork() && turns < 100; turns++)
      for (const { id } of await claimer.claim(WORKER, new Map([["default", 1_000]]))) seen.add(id);
    expect(seen.size).toBe(12_000);
  });
});

test("A1: two claimers at once never get the same job", async () => {
  const first = await newClaimer();
  const other = new Database({ databaseUrl: db.url }, { connectionsMax: 4, applicationName: "claimer" });
  onTestFinished(() => other.close());
  const second = new Claimer(
    { db: other, clock: standingClock(), bus: new Bus<ClaimNews>() },
    {
      queues: ["default"],
      kinds: ["job"],
      lowerShare: 0.1,
      rescanMs: RESCAN_MS,
      jobsMax: 4_000,
      tenantJobsMax: undefined,
    },
  );
  await db.query("select fairmill.register_v1('second', '{default}', '1 hour')");
  await put(600, { tenant: "a" });
  await put(600, { tenant: "b" });
  const demand = new Map([["default", 50]]);
  const seen: number[] = [];
  for (let i = 0; i < 15; i++) {
    const both = await Promise.all([first.claimer.claim(WORKER, demand), second.claim("second", demand)]);
    for (const claims of both) seen.push(...numbers(claims));
  }
  expect(seen.length).toBeGreaterThan(1_000);
  expect(new Set(seen).size).toBe(seen.length);
});
