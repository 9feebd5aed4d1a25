// C4: long-running workers write down what they did, one row an interval; and what rows say is true.
import { createClient, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { Bus } from "../../src/base/bus.js";
import { systemClock } from "../../src/base/clock.js";
import { createWorkerEmitter } from "../../src/core/worker/worker-events.js";
import type { WorkerNews } from "../../src/core/worker/worker-news.js";
import { Database } from "../../src/db/database.js";
import { IntervalRecorder } from "../../src/intervals/interval-recorder.js";
import { WorkerFigures } from "../../src/intervals/worker-figures.js";
import { useDatabase } from "../support/database.js";
import { endOf, gate, keepingLogger, startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const work = defineJob<{ fails?: boolean }>({ kind: "work", retry: { attempts: 1 } });

interface Row {
  mode: string;
  worker_id: string;
  jobs_claimed: number;
  jobs_succeeded: number;
  jobs_failed: number;
  jobs_throttled: number;
  tenant_jobs: Record<string, number>;
  kinds: Record<string, Record<string, unknown>>;
  tenants: Record<string, Record<string, number>>;
  queues: Record<string, Record<string, unknown>> | null;
  throttled: Record<string, unknown>[];
  queue_depth_at_start: number | null;
  interval_ms: number;
  tick_duration_ms: number;
  running: number;
}
const rows = () => db.query<Row>("select * from fairmill.worker_tick_metrics order by id");

test("C4: what a worker did is in its rows, summed up: jobs, tenants, kinds, run times, waits", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const ids: string[] = [];
  for (let n = 0; n < 30; n++)
    ids.push((await client.enqueue(work, { fails: n % 10 === 0 }, { tenant: n % 3 === 0 ? "acme" : "other" })).id);
  // They have waited for a minute by now.
  await db.query("update fairmill.job set created_at = now() - interval '1 minute'");
  const run = handle(work, ({ input }) => {
    if (input.fails) throw new Error("no");
  });
  const worker = await startWorker(db.url, [run], { recordEvery: "100ms" });
  for (const id of ids) await endOf(client, id);
  await worker.stop();
  const written = await rows();
  const total = (column: keyof Row) => written.reduce((sum, row) => sum + Number(row[column]), 0);
  expect([total("jobs_claimed"), total("jobs_succeeded"), total("jobs_failed")]).toEqual([30, 27, 3]);
  const of = (what: "kinds" | "tenants", name: string, member: string) =>
    written.reduce((sum, row) => sum + Number(row[what][name]?.[member] ?? 0), 0);
  expect([of("kinds", "work", "done"), of("kinds", "work", "failed"), of("kinds", "work", "dead")]).toEqual([27, 3, 3]);
  expect(of("kinds", "work", "runs")).toBe(30);
  // Asked of the database, for a sample that is all of them here.
  expect(of("kinds", "work", "waits")).toBe(30);
  const meanMs = of("kinds", "work", "wait_ms") / 30;
  expect(meanMs).toBeGreaterThan(60_000);
  expect(meanMs).toBeLessThan(300_000);
  const hist = written.flatMap((row) => (row.kinds["work"]?.["wait_hist"] as number[] | undefined)?.slice(12) ?? []);
  expect(hist.reduce((sum, count) => sum + count, 0)).toBe(30);
  expect([of("tenants", "acme", "claimed"), of("tenants", "other", "claimed")]).toEqual([10, 20]);
  expect(of("tenants", "acme", "waits") + of("tenants", "other", "waits")).toBe(30);
  for (const row of written) {
    expect(row).toMatchObject({ mode: "interval", worker_id: worker.id });
    expect(row.tick_duration_ms).toBeLessThanOrEqual(row.interval_ms);
  }
  expect(await db.query("select * from fairmill.worker_health_summary")).toMatchObject([
    { worker_id: worker.id, tick_count: String(written.length), total_jobs_claimed: "30", total_jobs_succeeded: "27" },
  ]);
});

test("nothing happened: no row, until the minute is over", async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonic: () => nowMs, after: () => () => {} };
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 1, applicationName: "test" });
  const bus = new Bus<WorkerNews>();
  const figures = new WorkerFigures({ bus, clock, events: createWorkerEmitter() });
  const trouble = (_: string, error: unknown) => {
    throw error;
  };
  const settings = { concurrency: new Map([["default", 1]]), recordEveryMs: 10_000 };
  const context = { db: database, clock, identity: { id: "w1" }, trouble, settings };
  const recorder = new IntervalRecorder(context, figures, { size: 0 });
  const waitsMs = await recorder.runOnce();
  expect(waitsMs).toBeGreaterThanOrEqual(9_000);
  expect(waitsMs).toBeLessThanOrEqual(11_000);
  for (nowMs = 10_000; nowMs <= 50_000; nowMs += 10_000) await recorder.runOnce();
  expect(await rows()).toEqual([]);
  await recorder.runOnce();
  expect(await rows()).toMatchObject([
    { jobs_claimed: 0, interval_ms: 60_000, tick_duration_ms: 0, queue_depth_at_start: 0 },
  ]);
  bus.tell("stepped", { kind: "work", ms: 1 });
  figures.now.counts.claimed++;
  nowMs += 10_000;
  await recorder.runOnce();
  expect(await rows()).toMatchObject([
    {},
    { jobs_claimed: 1, interval_ms: 10_000, kinds: { work: { steps: 1, step_ms: 1 } } },
  ]);
  await recorder.runOnce();
  expect(await rows()).toHaveLength(2);
  await database.close();
});

test("the dearer a look at the queues is, the longer until the next one", async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonic: () => nowMs, after: () => () => {} };
  const lookEveryMs: unknown[] = [];
  const query = async (_text: string, [, , everyMs]: unknown[]) => {
    lookEveryMs.push(everyMs);
    nowMs += 2_000;
    // The second row is written without a look.
    return [{ ready: lookEveryMs.length === 2 ? null : 5, throttled: 0 }];
  };
  const bus = new Bus<WorkerNews>();
  const figures = new WorkerFigures({ bus, clock, events: createWorkerEmitter() });
  const settings = { concurrency: new Map([["default", 1]]), recordEveryMs: 10_000 };
  const context = { db: { query } as unknown as Database, clock, identity: { id: "w1" }, trouble: () => {}, settings };
  const recorder = new IntervalRecorder(context, figures, { size: 0 });
  for (let n = 0; n < 3; n++) {
    figures.now.counts.claimed++;
    await recorder.runOnce();
  }
  expect(lookEveryMs).toEqual([8_000, 40_000, 40_000]);
});

test("C3: what a limit of a tenant or a kind holds back is recorded as throttled, with the number of jobs behind it", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.tenants.set("acme", { maxRunning: 1 });
  await client.kinds.set("rare", { maxRunning: 1 });
  const rare = defineJob({ kind: "rare" });
  for (let n = 0; n < 6; n++) await client.enqueue(work, {}, { tenant: "acme" });
  for (let n = 0; n < 4; n++) await client.enqueue(rare, {}, { tenant: `t${n}` });
  const held = gate();
  const logger = keepingLogger();
  const handlers = [handle(work, () => held.promise), handle(rare, () => held.promise)];
  const worker = await startWorker(db.url, handlers, { recordEvery: "100ms", logger });
  await waitUntil("both limits are on record", async () => {
    const limits = (await rows()).flatMap(({ throttled }) => throttled);
    return limits.some(({ scope }) => scope === "tenant") && limits.some(({ scope }) => scope === "kind");
  });
  held.open();
  const written = await rows();
  const limits = written.flatMap(({ throttled }) => throttled);
  expect(limits).toContainEqual(expect.objectContaining({ scope: "tenant", name: "acme", limit: "cap", jobs: 5 }));
  expect(limits).toContainEqual(expect.objectContaining({ scope: "kind", name: "rare", limit: "cap", jobs: 3 }));
  expect(Math.max(...written.map(({ jobs_throttled: jobs }) => jobs))).toBeGreaterThanOrEqual(5);
  expect(logger.lines.some(({ facts }) => facts["skipped_throttle"] === true)).toBe(true);
  await worker.stop();
});

test("of several workers one looks at the queues in an interval, and the others take its word", async () => {
  const record = (worker: string, every: string) =>
    db.query("select * from fairmill.record_tick_v1($1, $2, $3::interval)", [
      worker,
      JSON.stringify({ mode: "interval", interval_ms: 10, tick_duration_ms: 0, looked_at: ["default"] }),
      every,
    ]);
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueue(work, {});
  await record("w1", "1 minute");
  await record("w2", "1 minute");
  await record("w3", "0");
  expect(await rows()).toMatchObject([
    { queues: { default: { ready: 1, ready_full: false } }, queue_depth_at_start: 1 },
    { queues: null, queue_depth_at_start: 1 },
    { queues: { default: { ready: 1 } }, queue_depth_at_start: 1 },
  ]);
});

test("a row that cannot be written is announced, and the worker goes on", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const worker = await startWorker(db.url, [handle(work, () => "ran")], { recordEvery: "100ms" });
  const troubles: string[] = [];
  worker.events.on("trouble", ({ doing }) => void troubles.push(doing));
  await db.query("alter table fairmill.worker_tick_metrics rename to elsewhere");
  try {
    const { id } = await client.enqueue(work, {});
    expect(await client.result(id)).toBe("ran");
    await waitUntil("the trouble was announced", () => troubles.includes("recording an interval"));
  } finally {
    await db.query("alter table fairmill.elsewhere rename to worker_tick_metrics");
  }
  const { id } = await client.enqueue(work, {});
  expect(await client.result(id)).toBe("ran");
  await worker.stop();
});
