// B1: how many jobs run at once, in one queue and in several.
import { createClient, defineJob, fixed, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endOf, eventOf, gate, startWorker } from "../support/jobs.js";
import { startWorkerProcess, type WorkerProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const inputs = (length: number) => Array.from({ length }, (_, n) => ({ input: { n }, tenant: `t${n % 3}` }));
const left = async () => Number((await db.query("select count(*) as n from fairmill.job"))[0]!["n"]);

/** A handler that takes a moment and counts how many of its kind run beside it. */
function counting(ms = 5) {
  const seen = { running: 0, max: 0, ran: 0 };
  const run = async () => {
    seen.max = Math.max(seen.max, ++seen.running);
    await new Promise((resolve) => setTimeout(resolve, ms));
    seen.running--;
    seen.ran++;
  };
  return { seen, run };
}

test.each([
  [1, 0],
  [7, 0],
  [7, 20],
])("B1: concurrency %d with %d claimed ahead is reached and never exceeded", async (concurrency, prefetch) => {
  const work = defineJob<{ n: number }>({ kind: "work" });
  const { seen, run } = counting();
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(work, inputs(40 * concurrency));
  const { promise, open } = gate();
  await using worker = await startWorker(db.url, [handle(work, run)], { concurrency, prefetch });
  worker.events.on("claimed", async () => {
    // What the database says is running may be more by what was claimed ahead, and no more than that.
    const [row] = await db.query("select count(*) as n from fairmill.job where state = 'running' and worker = $1", [
      worker.id,
    ]);
    expect(Number(row!["n"])).toBeLessThanOrEqual(5 * (concurrency + prefetch));
    open();
  });
  await promise;
  await waitUntil("all have run", async () => (await left()) === 0);
  expect(seen).toEqual({ running: 0, max: concurrency, ran: 40 * concurrency });
});

test("B1: each queue has its own places, and one that is full does not stop the other", async () => {
  const slow = defineJob<{ n: number }>({ kind: "slow", queue: "slow" });
  const fast = defineJob<{ n: number }>({ kind: "fast", queue: "fast" });
  const slowOnes = counting(20);
  const fastOnes = counting(1);
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(slow, inputs(20));
  await client.enqueueMany(fast, inputs(60));
  await using _ = await startWorker(db.url, [handle(slow, slowOnes.run), handle(fast, fastOnes.run)], {
    queues: { slow: { concurrency: 2 }, fast: { concurrency: 5 } },
  });
  await waitUntil("all have run", async () => (await left()) === 0);
  expect(slowOnes.seen).toMatchObject({ max: 2, ran: 20 });
  expect(fastOnes.seen).toMatchObject({ max: 5, ran: 60 });
});

test("a queue whose places are full while more waits in it leaves the process responsive, and the other queue served", async () => {
  const held = defineJob({ kind: "held", queue: "held" });
  const other = defineJob({ kind: "other", queue: "other" });
  const mayEnd = gate();
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(held, [{ input: {} }, { input: {} }, { input: {} }]);
  await using worker = await startWorker(db.url, [handle(held, () => mayEnd.promise), handle(other, () => "served")], {
    concurrency: 1,
    poll: "1h",
  });
  await waitUntil("one is held", async () => {
    const [row] = await db.query("select count(*) as n from fairmill.job where state = 'running'");
    return Number(row!["n"]) === 1;
  });
  // The loop turns, timers fire, and work for the other queue is found by notification.
  const { id } = await client.enqueue(other, {});
  expect(await endOf(client, id)).toMatchObject({ state: "done", result: "served", worker: worker.id });
  mayEnd.open();
  await waitUntil("all have run", async () => (await left()) === 0);
});

test("a place that becomes free in a full queue is taken at once, although the other queue has nothing to do", async () => {
  const paced = defineJob<{ n: number }>({ kind: "paced", queue: "paced" });
  const idle = defineJob({ kind: "idle", queue: "idle" });
  const { seen, run } = counting(2);
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(paced, inputs(100));
  await using _ = await startWorker(db.url, [handle(paced, run), handle(idle, () => 1)], {
    concurrency: 2,
    poll: "1h",
  });
  await waitUntil("all have run", async () => (await left()) === 0);
  expect(seen).toMatchObject({ max: 2, ran: 100 });
});

test("a queue that ran dry is served again while another one has a long backlog", async () => {
  const long = defineJob<{ n: number }>({ kind: "long", queue: "long" });
  const short = defineJob<{ n: number }>({ kind: "short", queue: "short" });
  const longOnes = counting(1);
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(short, inputs(40));
  await client.enqueueMany(long, inputs(60_000));
  await using worker = await startWorker(db.url, [handle(long, longOnes.run), handle(short, () => "served")], {
    concurrency: 2,
  });
  // Both were busy, then one ran dry: the worker had stopped asking for notifications, and must have noticed.
  await waitUntil("the short queue is dry", async () => {
    const [row] = await db.query("select count(*) as n from fairmill.job where queue = 'short'");
    return Number(row!["n"]) === 0;
  });
  const before = longOnes.seen.ran;
  const { id } = await client.enqueue(short, { n: 1 });
  expect(await endOf(client, id)).toMatchObject({ state: "done" });
  await waitUntil("the long queue goes on", () => longOnes.seen.ran > before);
  expect(await left()).toBeGreaterThan(1_000);
  await worker.stop();
  await db.query("delete from fairmill.job");
});

test("A8: two workers share the work, and no job runs twice", async () => {
  const work = defineJob<{ n: number }>({ kind: "work" });
  const runs: string[] = [];
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(work, inputs(400));
  const run = async ({ id }: { id: string }) => {
    runs.push(id);
    await new Promise((resolve) => setTimeout(resolve, 1));
  };
  await using first = await startWorker(db.url, [handle(work, run)], { concurrency: 5 });
  await using second = await startWorker(db.url, [handle(work, run)], { concurrency: 5 });
  await waitUntil("all have run", async () => (await left()) === 0);
  expect(runs.length).toBe(400);
  expect(new Set(runs).size).toBe(400);
  const rows = await db.query("select worker, count(*) as n from fairmill.job_history group by worker");
  expect(rows.map(({ worker }) => worker).sort()).toEqual([first.id, second.id].sort());
});

test("A8: two and then four identical processes run two and four times as many jobs at once, with the same settings", async () => {
  const held = defineJob({ kind: "held" });
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(
    held,
    Array.from({ length: 30 }, () => ({ input: {} })),
  );
  const fleet: WorkerProcess[] = [];
  const running = async () =>
    Number((await db.query("select count(*) as n from fairmill.job where state = 'running'"))[0]!["n"]);
  for (const replicas of [1, 2, 4]) {
    while (fleet.length < replicas) fleet.push(await startWorkerProcess(db.url, ["held"], { concurrency: 5 }));
    await waitUntil(`${replicas} processes run five jobs each`, async () => (await running()) === 5 * replicas);
    for (const worker of fleet)
      await waitUntil("its handlers have begun", () => worker.messages.filter(({ held }) => held).length === 5);
  }
  await waitUntil("all have run", async () => {
    for (const worker of fleet) worker.tell("let go");
    return (await left()) === 0;
  });
  for (const worker of fleet) await worker.stop();
});

test("A4: a delayed and a retried job take their positions by the time they became due, not by their ids", async () => {
  const work = defineJob<{ name: string }>({ kind: "work", retry: { attempts: 2, backoff: fixed(1) } });
  const ran: string[] = [];
  await using client = createClient({ databaseUrl: db.url });
  const add = (name: string, options = {}) => client.enqueue(work, { name }, options);
  await add("delayed", { delay: "1h" });
  const retried = await add("retried");
  await db.query("select fairmill.register_v1('w', array['default'])");
  const [claimed] = await db.query("select id, lease_no from fairmill.claim_v1('w')");
  expect(claimed!["id"]).toBe(retried.id);
  await db.query("select fairmill.settle_v1('w', array[$1::bigint], array[$2::integer], array['retry'], $3)", [
    claimed!["id"],
    claimed!["lease_no"],
    JSON.stringify([{ delay_ms: 3_600_000, error: { name: "Error", message: "no paper" } }]),
  ]);
  await add("first");
  const second = await add("second");
  // The later one falls due first.
  await db.query("update fairmill.job set run_at = now() - interval '1 second' where id = $1", [retried.id]);
  await db.query("update fairmill.job set run_at = now() where state = 'scheduled' and id <> $1", [retried.id]);
  await db.query("select fairmill.tick_upkeep_v1()");
  await add("third");
  const told = await client.why(second.id);
  expect(told!.checks.find(({ check }) => check === "turn")!.detail).toMatchObject({ ahead: 1 });
  const worker = await startWorker(db.url, [handle(work, ({ input }) => void ran.push(input.name))], {
    concurrency: 1,
  });
  await waitUntil("all have run", async () => (await left()) === 0);
  await worker.stop();
  expect(ran).toEqual(["first", "second", "retried", "delayed", "third"]);
});

test("A4: with a single place the jobs of a lane run strictly in their order", async () => {
  const work = defineJob<{ n: number }>({ kind: "work" });
  const order: number[] = [];
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(
    work,
    Array.from({ length: 50 }, (_, n) => ({ input: { n } })),
  );
  await using worker = await startWorker(db.url, [handle(work, ({ input }) => void order.push(input.n))], {
    concurrency: 1,
  });
  await eventOf(worker, "idle", () => order.length === 50);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
});
