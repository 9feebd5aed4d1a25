// C1, C2, C4: overlapping ticks share the work, and each of them keeps to its shares.
import { createClient, defineJob, handle } from "fairmill";
import { MAX_JOBS_PER_TENANT_PER_TICK, MAX_JOBS_PER_TICK } from "fairmill/tick";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { tickHandler } from "./handlers.js";

const db = useDatabase();
const work = defineJob<{ n: number }>({ kind: "work" });

interface Row {
  worker_id: string;
  jobs_claimed: number;
  jobs_succeeded: number;
  tenant_jobs: Record<string, number>;
  queue_depth_at_start: number;
}

const readRows = () => db.query<Row>("select * from fairmill.worker_tick_metrics order by id");

test("FAIR1, FAIR2: ten overlapping ticks on 5,000 jobs of 40 tenants, one of whom has 3,050 of them", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(
    work,
    Array.from({ length: 5_000 }, (_, n) => ({ input: { n }, tenant: n < 3_000 ? "noisy" : `t${n % 40}` })),
  );
  const runs = new Map<string, number>();
  const handlers = [handle(work, ({ id }) => void runs.set(id, (runs.get(id) ?? 0) + 1))];
  const ticks = Array.from({ length: 10 }, () => tickHandler({ databaseUrl: db.url, handlers, connectionsMax: 1 }));
  const reports = await Promise.all(ticks.map((handler) => handler.tick()));

  const rows = await readRows();
  expect(rows.map(({ worker_id: worker }) => worker).toSorted()).toEqual(
    reports.map(({ worker }) => worker).toSorted(),
  );
  for (const {
    jobs_claimed: claimed,
    jobs_succeeded: succeeded,
    tenant_jobs: tenants,
    queue_depth_at_start: depth,
  } of rows) {
    expect(claimed).toBe(200);
    expect(succeeded).toBe(200);
    expect(depth).toBeGreaterThan(2_000);
    // FAIR1
    expect(Math.max(...Object.values(tenants))).toBeLessThanOrEqual(25);
    // FAIR2: with 41 tenants waiting, 200 jobs are some of nearly everybody's.
    expect(Object.keys(tenants).length).toBeGreaterThanOrEqual(35);
    expect(Object.values(tenants).reduce((sum, count) => sum + count, 0)).toBe(200);
  }
  // HS1: every job once.
  expect([...runs.values()].every((count) => count === 1)).toBe(true);
  expect(runs.size).toBe(2_000);
  expect(Math.min(...reports.map(({ remaining }) => remaining))).toBe(3_000);
});

test("C2: a tenant that is alone gets 25 jobs of a tick, over all its priorities and queues", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const other = defineJob<{ n: number }>({ kind: "other", queue: "other" });
  for (const priority of [0, 5, 9])
    await client.enqueueMany(
      work,
      Array.from({ length: 100 }, (_, n) => ({ input: { n }, tenant: "alone", priority })),
    );
  await client.enqueueMany(
    other,
    Array.from({ length: 100 }, (_, n) => ({ input: { n }, tenant: "alone" })),
  );
  const handlers = [handle(work, () => {}), handle(other, () => {})];
  const handler = tickHandler({ databaseUrl: db.url, handlers });
  expect([MAX_JOBS_PER_TICK, MAX_JOBS_PER_TENANT_PER_TICK]).toEqual([200, 25]);
  expect(await handler.tick()).toMatchObject({ claimed: 25, succeeded: 25, failed: 0, remaining: 375 });
  const [row] = await readRows();
  expect(row!.tenant_jobs).toEqual({ alone: 25 });
  const seven = tickHandler({ databaseUrl: db.url, handlers, maxJobsPerTick: 7, maxJobsPerTenantPerTick: 5 });
  expect(await seven.tick()).toMatchObject({ claimed: 5 });
});

test("FAIR2: of more tenants than a tick has jobs, ticks serve all in turn", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(
    work,
    Array.from({ length: 400 }, (_, n) => ({ input: { n }, tenant: `t${n % 40}` })),
  );
  const served = new Set<string>();
  const handler = tickHandler({
    databaseUrl: db.url,
    handlers: [handle(work, ({ tenant }) => void served.add(tenant))],
    maxJobsPerTick: 10,
  });
  // By chance: that one of 40 is left out by 30 draws of 10 has a chance of about 1 in 140.
  for (let tick = 0; tick < 30; tick++) await handler.tick();
  expect(served.size).toBeGreaterThanOrEqual(38);
});

test("C4: a tick that finds every waiting job locked by another session counts that as contention", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(
    work,
    Array.from({ length: 5 }, (_, n) => ({ input: { n } })),
  );
  const other = await db.pool.connect();
  try {
    await other.query("begin");
    await other.query("select from fairmill.job for update");
    const handler = tickHandler({ databaseUrl: db.url, handlers: [handle(work, () => {})] });
    expect(await handler.tick()).toMatchObject({ claimed: 0, remaining: 5 });
    await other.query("rollback");
    expect(await handler.tick()).toMatchObject({ claimed: 5, remaining: 0 });
  } finally {
    other.release();
  }
  const rows = await db.query("select lock_contention_count from fairmill.worker_tick_metrics order by id");
  expect(rows).toEqual([{ lock_contention_count: 1 }, { lock_contention_count: 0 }]);
});
