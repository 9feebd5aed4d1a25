// claim_v1: a batch of whatever waits, fair to tenants, for callers that know no lanes. claim_job_v1: one given job.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import {
  type Asker,
  byTenant,
  type Claimed,
  call,
  claim,
  enqueueKeyed,
  enqueueOne,
  fill,
  fillTenants,
  live,
  register,
  setRule,
  settle,
} from "../../support/sql/calls.js";
import { errorCode, useSessions } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

describe("claim_v1", () => {
  test("a worker that is not alive is refused with FM002, by either way in: unknown, stopped or lost", async () => {
    await fill(db, 1);
    await register(db, "stopped");
    await call(db, "stop_worker_v1('stopped')");
    await register(db, "lost");
    await db.query("update fairmill.worker set state = 'lost', ended_at = now() where id = 'lost'");
    const args = "'{default}', '{0}', '{default}', '{0}', '{1}', null, 1";
    for (const worker of ["unknown", "stopped", "lost"]) {
      expect(await errorCode(claim(db, worker)), worker).toBe("FM002");
      expect(await errorCode(db.query(`select fairmill.claim_lanes_v1($1, ${args})`, [worker])), worker).toBe("FM002");
    }
    const error = (await claim(db, "unknown").catch((e: unknown) => e)) as { message: string; hint: string };
    expect(error.message).toBe('worker "unknown" is not alive');
    expect(error.hint).toContain("fairmill.register_v1('unknown'");
    expect(await db.query("select from fairmill.job where state = 'running'")).toEqual([]);
  });

  test("an empty queue gives nothing", async () => {
    await register(db, "w");
    expect(await claim(db, "w", 10)).toEqual([]);
  });

  test("higher priorities are claimed first where the lower ones are sure of nothing", async () => {
    await register(db, "w");
    await fill(db, 5, { tenant: "low", priority: -1 });
    await fill(db, 5, { tenant: "high", priority: 1 });
    await fill(db, 5, { tenant: "middle" });
    const order: string[] = [];
    for (let n = 0; n < 15; n++)
      for (const { tenant } of await db.query<{ tenant: string }>(
        "select tenant from fairmill.claim_v1('w', lower_share => 0)",
      ))
        order.push(tenant);
    expect(order).toEqual([...Array(5).fill("high"), ...Array(5).fill("middle"), ...Array(5).fill("low")]);
  });

  test.each([
    [1, 25],
    [3, 75],
    [8, 200],
    [10, 200],
    [12, 200],
  ])(
    "C2 FAIR1 FAIR2: of %i tenants with 1,000 jobs each, one claim of 200 with 25 a tenant takes %i, of every tenant its equal part",
    async (tenants, total) => {
      await register(db, "w");
      await fillTenants(db, tenants, 1_000);
      const jobs = await claim(db, "w", 200, { tenantMax: 25 });
      expect(jobs).toHaveLength(total);
      const counts = Object.values(await byTenant(db, jobs));
      expect(counts).toHaveLength(tenants);
      const part = Math.min(25, Math.ceil(200 / tenants));
      expect(Math.max(...counts)).toBe(part);
      // Only the last lane of the batch may come short, by what rounding up gave to the others.
      expect(counts.filter((count) => count < part).length).toBeLessThanOrEqual(1);
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(
        200 - (tenants - 1) * part > 0 ? Math.min(part, 200 - (tenants - 1) * part) : 1,
      );
    },
  );

  test("C2 FAIR2: where tenants are more than the batch is long, each has one job of it, and chance gives everyone a turn", async () => {
    await register(db, "w");
    await fillTenants(db, 300, 40);
    const served = new Set<string>();
    for (let n = 0; n < 20; n++) {
      const counts = await byTenant(db, await claim(db, "w", 200, { tenantMax: 25 }));
      expect(Object.keys(counts)).toHaveLength(200);
      expect(Math.max(...Object.values(counts))).toBe(1);
      for (const tenant of Object.keys(counts)) served.add(tenant);
    }
    // A tenant is passed over by one claim in three: by all twenty of them once in three thousand million.
    expect(served.size).toBe(300);
  });

  test("C2 FAIR1: a tenant with 1,000 jobs queued does not hold up one with a single job", async () => {
    await register(db, "w");
    await fill(db, 1_000, { tenant: "big" });
    await fill(db, 1, { tenant: "small" });
    expect(await byTenant(db, await claim(db, "w", 200, { tenantMax: 25 }))).toEqual({ big: 25, small: 1 });
  });

  test("C2 FAIR2: among 6,000 waiting tenants those at either end of the alphabet get their turn like the others", async () => {
    await register(db, "w");
    await db.query(
      `insert into fairmill.job (kind, queue, tenant, state, payload)
       select 'work', 'default', 't' || lpad(t::text, 5, '0'), 'ready', '{}' from generate_series(1, 5) n, generate_series(1, 6000) t`,
    );
    await db.query("analyze fairmill.job");
    const ids: { id: string }[] = [];
    for (let n = 0; n < 60; n++) ids.push(...(await claim(db, "w", 200)));
    const counts = await byTenant(db, ids);
    // 12,000 claims: two a tenant. Of a group of 500 tenants about 430 are served at least once when all have the same chance.
    for (const [from, to] of [
      [1, 500],
      [2_751, 3_250],
      [5_501, 6_000],
    ] as const) {
      const served = Object.keys(counts).filter(
        (tenant) => Number(tenant.slice(1)) >= from && Number(tenant.slice(1)) <= to,
      );
      expect(served.length, `tenants ${from} to ${to}`).toBeGreaterThan(250);
    }
  });
});

describe("B2: claim_job_v1, one given job", () => {
  const claimJob = async (ask: Asker, id: string, worker = "w") =>
    (await ask.query<Claimed>("select * from fairmill.claim_job_v1($1, $2)", [worker, id])).map((job) => job.id);

  test("past older ones of its lane and higher priorities, with a fence of its own, and once", async () => {
    await register(db, "w");
    await fill(db, 3, { tenant: "acme", priority: 5 });
    await fill(db, 3, { tenant: "acme" });
    const id = await enqueueOne(db, { kind: "work", tenant: "acme", payload: { n: 1 } });
    const [job] = await db.query<Claimed>("select * from fairmill.claim_job_v1('w', $1)", [id]);
    expect(job).toMatchObject({ id, lease_no: claimNo(1), tenant: "acme", attempt: 1, payload: { n: 1 } });
    expect(await claimJob(db, id)).toEqual([]);
    expect(await settle(db, "w", [job!], "done")).toMatchObject({ accepted: 1 });
    expect(await claimJob(db, id)).toEqual([]);
    expect(await claimJob(db, "999999")).toEqual([]);
    await expect(claimJob(db, id, "unknown")).rejects.toMatchObject({ code: "FM002" });
  });

  test("of many callers at once one gets it, and what another session holds is stepped over", async () => {
    await register(db, "w");
    const id = await enqueueOne(db);
    const sessions = await Promise.all(Array.from({ length: 8 }, () => open()));
    const answers = await Promise.all(sessions.map((session) => claimJob(session, id)));
    expect(answers.flat()).toEqual([id]);

    const other = await enqueueOne(db);
    await sessions[0]!.query("begin");
    expect(await claimJob(sessions[0]!, other)).toEqual([other]);
    expect(await claimJob(sessions[1]!, other)).toEqual([]);
    await sessions[0]!.query("rollback");
    expect(await claimJob(sessions[1]!, other)).toEqual([other]);
  });

  test.each([
    ["a pause of its queue", "set_limits_v1('queue', 'default', '{\"paused\": true}')"],
    ["a pause of its kind", "set_limits_v1('kind', 'work', '{\"paused\": true}')"],
    ["a pause of its tenant", "set_limits_v1('tenant', 'default', '{\"paused\": true}')"],
    ["a cap of its tenant", "set_limits_v1('tenant', 'default', '{\"max_running\": 0}')"],
    ["a cap of its kind", "set_limits_v1('kind', 'work', '{\"max_running\": 0}')"],
    ["a cap of its queue", "set_limits_v1('queue', 'default', '{\"max_running\": 0}')"],
  ])("%s holds it back, and its attempt is not spent", async (_, limit) => {
    await register(db, "w");
    const id = await enqueueOne(db);
    await call(db, limit);
    expect(await claimJob(db, id)).toEqual([]);
    expect(await live(db, id)).toMatchObject({ state: "ready", attempt: 0 });
    await db.query("delete from fairmill.job");
  });

  test("the rate of its key delays it as in any claim; one that is late, delayed or blocked is not claimed", async () => {
    await register(db, "w");
    await setRule(db, { rate: { limit: 1, per_ms: 60_000 } });
    const [first, second] = await enqueueKeyed(db, 2);
    expect(await claimJob(db, first!)).toEqual([first]);
    expect(await claimJob(db, second!)).toEqual([]);
    expect(await live(db, second!)).toMatchObject({ state: "scheduled", attempt: 0 });
    expect(await claimJob(db, await enqueueOne(db, { delay_ms: 60_000 }))).toEqual([]);
    const late = await enqueueOne(db, { expire_ms: 60_000 });
    await db.query("update fairmill.job set expire_at = now() - interval '1 second' where id = $1", [late]);
    expect(await claimJob(db, late)).toEqual([]);
    expect(await live(db, late)).toMatchObject({ state: "ready" });
  });
});
