// F13: behind a real PgBouncer in transaction mode, where two statements of one connection may reach two sessions: with a way around it for
// notifications, and without.
import { createClient, defineJob, handle } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { begun, endOf, keepingLogger, listens, startWorker, untilAborted } from "../support/jobs.js";
import { openPool } from "../support/open-pool.js";
import { type Pooler, pgbouncer, startPooler, WHY_SKIPPED } from "../support/pgbouncer.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const work = defineJob<{ n: number }>({ kind: "work" });
const isDrained = async () => (await db.query("select from fairmill.job limit 1")).length === 0;

if (!pgbouncer) console.log(WHY_SKIPPED);

describe.skipIf(!pgbouncer).each([
  ["with DATABASE_DIRECT_URL", true],
  ["without a way around it", false],
])("F13: behind PgBouncer, %s", (_, hasWayAround) => {
  let pooler: Pooler;
  const directUrl = process.env["DATABASE_DIRECT_URL"];
  beforeEach(async () => {
    pooler = await startPooler(db.url);
    if (hasWayAround) process.env["DATABASE_DIRECT_URL"] = db.url;
    else delete process.env["DATABASE_DIRECT_URL"];
  });
  afterEach(() => {
    if (directUrl === undefined) delete process.env["DATABASE_DIRECT_URL"];
    else process.env["DATABASE_DIRECT_URL"] = directUrl;
  });

  test("notifications arrive or are not asked for, and no connection of the pooler is left listening", async () => {
    const logger = keepingLogger();
    await using client = createClient({ databaseUrl: pooler.url });
    const worker = await startWorker(pooler.url, [handle(work, () => "ran")], { logger });
    if (hasWayAround) await listens(worker);
    const { id } = await client.enqueue(work, { n: 1 });
    expect(await client.result(id)).toBe("ran");
    expect(await pooler.onEach("select * from pg_listening_channels() as channel")).toEqual([]);
    const said = () => logger.lines.some(({ message }) => message.includes("DATABASE_DIRECT_URL"));
    if (!hasWayAround) await waitUntil("the worker says that it polls", said);
    await worker.stop();
    expect(said()).toBe(!hasWayAround);
    expect(await pooler.onEach("select * from pg_listening_channels() as channel")).toEqual([]);
  });

  test("the option directUrl of a worker goes before the environment", async () => {
    process.env["DATABASE_DIRECT_URL"] = pooler.url;
    const worker = await startWorker(pooler.url, [handle(work, () => "ran")], { directUrl: db.url });
    await listens(worker);
    expect(await pooler.onEach("select * from pg_listening_channels() as channel")).toEqual([]);
    await worker.stop();
  });

  test("two workers drain a list of three tenants: each job once", async () => {
    const runs = new Map<string, number>();
    const count = handle(work, ({ id }) => void runs.set(id, (runs.get(id) ?? 0) + 1));
    await using client = createClient({ databaseUrl: pooler.url });
    const enqueued = await client.enqueueMany(
      work,
      Array.from({ length: 1_000 }, (_, n) => ({ input: { n }, tenant: `t${n % 3}` })),
    );
    await using first = await startWorker(pooler.url, [count], { concurrency: 20 });
    await using second = await startWorker(pooler.url, [count], { concurrency: 20, prefetch: 20 });
    await waitUntil("all are done", isDrained);
    expect([...runs.keys()].sort()).toEqual(enqueued.map(({ id }) => id).sort());
    expect(new Set(runs.values())).toEqual(new Set([1]));
    const workers = await db.query<{ worker: string }>("select distinct worker from fairmill.job_history");
    expect(workers.every(({ worker }) => worker === first.id || worker === second.id)).toBe(true);
  });

  test("a job enqueued in a caller's transaction is there if it commits, and not if it does not", async () => {
    const pool = openPool({ connectionString: pooler.url, application_name: "test" });
    await using client = createClient({ db: pool });
    const inTransaction = async (end: "commit" | "rollback") => {
      const tx = await pool.connect();
      await tx.query("begin");
      const { id } = await client.in(tx).enqueue(work, { n: 1 });
      await tx.query(end);
      tx.release();
      return id;
    };
    const [kept, lost] = [await inTransaction("commit"), await inTransaction("rollback")];
    await using _worker = await startWorker(pooler.url, [handle(work, () => "ran")]);
    expect(await endOf(client, kept)).toMatchObject({ state: "done" });
    expect(await client.job(lost)).toBeUndefined();
    await _worker.stop();
    await pool.end();
  });

  test("steps, sleeps and signals go on where they were", async () => {
    const paid: number[] = [];
    const stepping = handle(work, async (ctx) => {
      const receipt = await ctx.step("pay", () => paid.push(ctx.attempt));
      await ctx.sleep("nap", 20);
      const word = await ctx.waitFor<string>("word");
      return { receipt, word };
    });
    await using client = createClient({ databaseUrl: pooler.url });
    await using _worker = await startWorker(pooler.url, [stepping]);
    const { id } = await client.enqueue(work, { n: 1 });
    await client.signal(id, "word", "go");
    expect(await client.result(id)).toEqual({ receipt: 1, word: "go" });
    expect(paid).toEqual([1]);
  });

  test("a batch calls back once, after its members", async () => {
    const after = defineJob({ kind: "after" });
    const ended: string[] = [];
    await using client = createClient({ databaseUrl: pooler.url });
    await using _worker = await startWorker(pooler.url, [
      handle(work, ({ id }) => void ended.push(id)),
      handle(after, () => void ended.push("after")),
    ]);
    const { id } = await client.batches.create({ onComplete: { job: after, input: {} } }, async (batch) => {
      for (let n = 0; n < 20; n++) await batch.add(work, { n });
    });
    expect(await client.batches.wait(id)).toMatchObject({ state: "succeeded", done: 20 });
    await waitUntil("the callback has run", () => ended.includes("after"));
    expect(ended.indexOf("after")).toBe(20);
  });

  test("a schedule ticks", async () => {
    await using client = createClient({ databaseUrl: pooler.url });
    await client.schedules.set("often", { cron: "* * * * * *", job: work, input: { n: 1 } });
    const worker = await startWorker(pooler.url, [handle(work, async ({ tick }) => (await tick())?.schedule)]);
    await waitUntil("a tick has run", async () => (await db.query("select from fairmill.job_history")).length > 0);
    await client.schedules.remove("often");
    await waitUntil("all are done", isDrained);
    await worker.stop();
    const [row] = await db.query("select result from fairmill.job_history limit 1");
    expect(row).toEqual({ result: "often" });
  });

  test("a cap holds, and a delayed job is found", async () => {
    let running = 0;
    let most = 0;
    const counting = handle(work, async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
    });
    await using client = createClient({ databaseUrl: pooler.url });
    await client.tenants.set("acme", { maxRunning: 2 });
    await client.enqueueMany(
      work,
      Array.from({ length: 40 }, (_, n) => ({ input: { n }, tenant: "acme" })),
    );
    await client.enqueue(work, { n: 99 }, { tenant: "acme", delay: 300 });
    await using _worker = await startWorker(pooler.url, [counting], { concurrency: 10 });
    await waitUntil("all are done", isDrained);
    expect(most).toBe(2);
  });

  test("a running job is told that it is cancelled", async () => {
    await using client = createClient({ databaseUrl: pooler.url });
    await using worker = await startWorker(pooler.url, [handle(work, ({ signal }) => untilAborted(signal))], {
      lease: "1s",
    });
    const id = await begun(client, worker, work, { n: 1 });
    await client.cancel(id);
    expect(await endOf(client, id)).toMatchObject({ state: "cancelled" });
  });
});
