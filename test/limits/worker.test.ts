// A worker whose jobs limits hold back: it sleeps meanwhile, and goes on when it is worth it.
import { createClient, defineJob, handle } from "fairmill";
import { afterEach, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { eventOf, startWorker } from "../support/jobs.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const CLAIMS = "from fairmill.claim_lanes_v1";
/** No worker looks because of the poll. */
const poll = "1h";

/** What this test opened, closed before the database is asked which sessions are still connected. */
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

function newClient() {
  const client = createClient({ databaseUrl: db.url });
  open.push(() => client.close());
  return client;
}

async function newWorker(...options: Parameters<typeof startWorker>) {
  const worker = await startWorker(...options);
  open.unshift(() => worker.stop());
  return worker;
}

test("F8: a tenant at its cap goes on as soon as one of its jobs is settled, not by asking again and again", async () => {
  const proxy = await TcpProxy.before(db.url);
  const job = defineJob({ kind: "job" });
  const client = newClient();
  await client.tenants.set("acme", { maxRunning: 1 });
  await client.enqueueMany(
    job,
    Array.from({ length: 30 }, () => ({ input: {}, tenant: "acme" })),
  );
  let running = 0;
  let most = 0;
  let ran = 0;
  const run = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    ran++;
  };
  await newWorker(proxy.url, [handle(job, run)], { poll });
  // At two seconds a job it would take a minute.
  await waitUntil("all ran", () => ran === 30, 45_000);
  expect(most).toBe(1);
  expect(proxy.count(CLAIMS)).toBeLessThan(30 * 3 + 10);
});

test("what a rate holds back is tried when it opens, and the worker sleeps until then", async () => {
  const proxy = await TcpProxy.before(db.url);
  const job = defineJob({ kind: "job" });
  const client = newClient();
  await client.tenants.set("acme", { rate: { limit: 1, per: 200 } });
  await client.enqueueMany(
    job,
    Array.from({ length: 6 }, () => ({ input: {}, tenant: "acme" })),
  );
  let ran = 0;
  await newWorker(proxy.url, [handle(job, () => void ran++)], { poll });
  await waitUntil("all ran", () => ran === 6);
  const before = proxy.count(CLAIMS);
  // One claim a job, and a few around the beginning and the end of sleep.
  expect(before).toBeLessThanOrEqual(6 * 2 + 6);
  // By the clock that the rate goes by: a handler may begin later than its job was claimed.
  const [took] = await db.query<{ ms: number }>(
    `select 1000 * extract(epoch from max(started_at) - min(started_at))::float8 as ms
     from (select started_at from fairmill.job union all select started_at from fairmill.job_history) as j`,
  );
  expect(took!.ms).toBeGreaterThanOrEqual(5 * 200 - 20);
});

test("a queue with a rate goes on when it opens", async () => {
  const job = defineJob({ kind: "job" });
  const client = newClient();
  await client.queues.set("default", { rate: { limit: 1, per: 200 } });
  await client.enqueueMany(
    job,
    Array.from({ length: 3 }, () => ({ input: {} })),
  );
  let ran = 0;
  await newWorker(db.url, [handle(job, () => void ran++)], { poll });
  await waitUntil("all ran", () => ran === 3);
});

test("a paused tenant costs nothing, and goes on when it is resumed: a worker that sleeps is woken", async () => {
  const proxy = await TcpProxy.before(db.url);
  const job = defineJob({ kind: "job" });
  const client = newClient();
  await client.pause({ tenant: "acme" });
  await client.enqueue(job, {}, { tenant: "acme" });
  const worker = await newWorker(proxy.url, [handle(job, () => 1)], { poll });
  await waitUntil("it listens", async () => (await db.query("select from fairmill.worker where listening")).length > 0);
  const settled = eventOf(worker, "settled");
  await client.enqueue(job, {}, { tenant: "other" });
  await settled;
  const before = proxy.count(CLAIMS);
  await db.query("select pg_sleep(1)");
  // Not the ever rarer looks of a worker that has just gone to sleep while transactions of others run.
  expect(proxy.count(CLAIMS) - before).toBeLessThanOrEqual(12);
  const ran = eventOf(worker, "settled");
  await client.resume({ tenant: "acme" });
  await ran;
});

test("a limit that opens while its queue is full wakes no worker, and the next free capacity is used for it", async () => {
  const x = defineJob({ kind: "x", queue: "x" });
  const y = defineJob({ kind: "y", queue: "y" });
  const client = newClient();
  await client.tenants.set("acme", { rate: { limit: 1, per: 3_000 } });
  let finish = () => {};
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const worker = await newWorker(
    db.url,
    [handle(x, (ctx) => (ctx.tenant === "acme" ? undefined : finished)), handle(y, () => 1)],
    { poll, concurrency: 1 },
  );
  const first = eventOf(worker, "settled");
  await client.enqueue(x, {}, { tenant: "acme" });
  await first;
  const held = await client.enqueue(x, {}, { tenant: "acme" });
  const full = eventOf(worker, "running", ({ claim }) => claim.tenant === "other");
  await client.enqueue(x, {}, { tenant: "other" });
  await full;
  let naps = 0;
  worker.events.on("idle", () => naps++);
  // Until the limit is open, and a moment longer.
  await db.query("select pg_sleep(3.2)");
  expect(naps).toBeLessThan(15);
  expect((await client.job(held.id))!.state).toBe("ready");
  const ran = eventOf(worker, "ended", ({ claim }) => claim.tenant === "acme");
  finish();
  await ran;
});

test("C2: claimTenantMax bounds what one claim takes of a tenant, claimJobsMax what it takes at all", async () => {
  const job = defineJob({ kind: "job" });
  const client = newClient();
  for (const tenant of ["a", "b"])
    await client.enqueueMany(
      job,
      Array.from({ length: 40 }, () => ({ input: {}, tenant })),
    );
  const worker = await newWorker(db.url, [handle(job, () => 1)], {
    concurrency: 50,
    claimJobsMax: 12,
    claimTenantMax: 5,
  });
  const sizes: number[] = [];
  let ran = 0;
  worker.events.on("claimed", ({ claims }) => {
    sizes.push(claims.filter(({ tenant }) => tenant === "a").length);
    ran += claims.length;
  });
  await waitUntil("all were claimed", () => ran >= 70);
  expect(Math.max(...sizes)).toBe(5);
});
