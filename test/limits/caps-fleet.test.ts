// Caps on running jobs across a fleet of real processes: an observer and the witness in the database never see one too many.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { observeRunning } from "../support/observer.js";
import { startWorkerProcess } from "../support/processes.js";
import { installWitness, mostRunning, readWitness } from "../support/transitions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const slow = defineJob<{ ms: number }>({ kind: "slow" });
const other = defineJob<{ ms: number }>({ kind: "limited" });
const isDrained = async () => (await db.query("select from fairmill.job limit 1")).length === 0;
const done = async () =>
  (await db.query<{ n: number }>("select count(*)::integer as n from fairmill.job_history where state = 'done'"))[0]!.n;

const fleetOf = (count: number, kinds: readonly string[]) =>
  Promise.all(Array.from({ length: count }, () => startWorkerProcess(db.url, kinds, { concurrency: 4 })));

test("F8 P6 I6: a tenant with a cap of 2 never has 3 running, although 16 processes claim thousands of its jobs", async () => {
  const client = createClient({ databaseUrl: db.url });
  await installWitness(db.pool);
  await client.tenants.set("acme", { maxRunning: 2 });
  await client.enqueueMany(
    slow,
    Array.from({ length: 2_500 }, (_, n) => ({ input: { ms: n % 3 }, tenant: n % 5 === 4 ? "other" : "acme" })),
  );
  const observer = await observeRunning(db.url, "tenant");
  const fleet = await fleetOf(16, ["slow"]);
  await waitUntil("all jobs are done", isDrained, 120_000);
  await observer.stop();
  await Promise.all(fleet.map((worker) => worker.stop()));
  await client.close();

  expect(await done()).toBe(2_500);
  await readWitness(db.pool);
  expect((await mostRunning(db.pool, "tenant")).get("acme")).toBe(2);
  expect(observer.most.get("acme")).toBeLessThanOrEqual(2);
  expect(observer.looks).toBeGreaterThan(100);
});

test("P6 I6: caps of a queue and of a kind hold across tenants and processes, both at once", async () => {
  const client = createClient({ databaseUrl: db.url });
  await installWitness(db.pool);
  await client.queues.set("default", { maxRunning: 5 });
  await client.kinds.set("slow", { maxRunning: 3 });
  for (const definition of [slow, other])
    await client.enqueueMany(
      definition,
      Array.from({ length: 600 }, (_, n) => ({ input: { ms: n % 3 }, tenant: `t${n % 7}` })),
    );
  const byQueue = await observeRunning(db.url, "queue");
  const byKind = await observeRunning(db.url, "kind");
  const fleet = await fleetOf(6, ["slow", "limited"]);
  await waitUntil("all jobs are done", isDrained, 120_000);
  await byQueue.stop();
  await byKind.stop();
  await Promise.all(fleet.map((worker) => worker.stop()));
  await client.close();

  expect(await done()).toBe(1_200);
  expect((await mostRunning(db.pool, "queue")).get("default")).toBe(5);
  expect((await mostRunning(db.pool, "kind")).get("slow")).toBe(3);
  expect(byQueue.most.get("default")).toBeLessThanOrEqual(5);
  expect(byKind.most.get("slow")).toBeLessThanOrEqual(3);
});

test("a cap that is set while thousands run is cheap to count for, also where statistics know of no running job", async () => {
  const client = createClient({ databaseUrl: db.url });
  for (let i = 0; i < 20; i++) await client.tenants.set(`t${i}`, { maxRunning: 500 });
  await db.query("select fairmill.register_v1('w', '{default}', '1 hour')");
  await db.query(
    `insert into fairmill.job (kind, queue, tenant, state, payload)
     select 'slow', 'default', 't' || n % 20, 'ready', '{}' from generate_series(1, 4000) n`,
  );
  await db.query("vacuum analyze fairmill.job");
  await db.query(
    "update fairmill.job set state = 'running', worker = 'w', lease_no = 1, attempt = 1, started_at = now()",
  );
  await db.query(
    "insert into fairmill.claim_list (worker, list_no, ids) select 'w', 1, array_agg(id) from fairmill.job",
  );
  const session = await db.pool.connect();
  // Joined the wrong way round it takes minutes.
  await session.query("set statement_timeout = '10s'");
  const counted = async () => (await session.query<{ n: number }>("select fairmill.count_running() as n")).rows[0]!.n;
  expect(await counted()).toBe(4_000);
  expect(await counted()).toBe(0);
  await session.query("reset statement_timeout");
  session.release();
  await client.close();
});
