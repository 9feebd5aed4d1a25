// C10: four workers under a mixed load with failures: two that live long, and two that are ticks, one after the other. TICK_EXIT_JOBS asks
// for more jobs.
import { createClient, defineChannel, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { startWorker } from "../support/jobs.js";
import { tickHandler } from "./handlers.js";

const db = useDatabase();
const JOBS = Number(process.env["TICK_EXIT_JOBS"] ?? 1_200);
const TENANTS = 12;

test("C10: no duplicate in the outbox, nothing stuck, a queue that empties, every tenant served, short ticks", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const quick = defineJob<{ n: number }>({ kind: "quick" });
  const flaky = defineJob<{ n: number }>({ kind: "flaky", retry: { attempts: 5, backoff: () => 20 } });
  const stepped = defineJob<{ n: number }>({ kind: "stepped" });
  const sent = new Map<string, number>();
  const channel = defineChannel({
    name: "mail",
    receiver: "takes-key",
    send: (_: unknown, { idempotencyKey, tenant }) => {
      const key = `${tenant}/${idempotencyKey}`;
      sent.set(key, (sent.get(key) ?? 0) + 1);
    },
  });
  const handlers = [
    handle(quick, (ctx) => ctx.publish("mail", {}, { idempotencyKey: `quick ${ctx.input.n}` })),
    handle(flaky, async (ctx) => {
      if (ctx.attempt < 1 + (ctx.input.n % 3)) throw new Error("not yet");
      await ctx.publish("mail", {}, { idempotencyKey: `flaky ${ctx.input.n}` });
    }),
    handle(stepped, async (ctx) => {
      await ctx.step("one", () => 1);
      await ctx.step("two", () => 2);
      await ctx.publish("mail", {}, { idempotencyKey: `stepped ${ctx.input.n}` });
    }),
  ];
  for (const [i, job] of [quick, flaky, stepped].entries())
    await client.enqueueMany(
      job,
      Array.from({ length: JOBS / 3 }, (_, n) => ({ input: { n }, tenant: `t${(n * 3 + i) % TENANTS}` })),
    );

  const options = { channels: [channel], concurrency: 5, recordEvery: "100ms" } as const;
  const workers = await Promise.all([1, 2].map(() => startWorker(db.url, handlers, options)));
  const isDrained = async () => (await db.query("select from fairmill.job limit 1")).length === 0;
  const tickAgain = async () => {
    const handler = tickHandler({
      databaseUrl: db.url,
      handlers,
      channels: [channel],
      concurrency: 5,
      maxJobsPerTick: 50,
    });
    while (!(await isDrained())) await handler.tick();
  };
  await Promise.all([tickAgain(), tickAgain()]);
  for (const worker of workers) await worker.stop();

  // Every job is done, so the queue is bounded and no job is stuck.
  expect(await db.query("select state, count(*)::integer as count from fairmill.job_history group by state")).toEqual([
    { state: "done", count: 2 * JOBS },
  ]);
  expect(await db.query("select idempotency_key from fairmill.channel_outbox group by 1 having count(*) > 1")).toEqual(
    [],
  );
  expect([...sent.values()].filter((count) => count !== 1)).toEqual([]);
  expect(sent.size).toBe(JOBS);
  const health = await db.query<{ mode: string; avg_tick_duration_ms: string }>(
    "select * from fairmill.worker_health_summary",
  );
  expect(new Set(health.map(({ mode }) => mode))).toEqual(new Set(["tick", "interval"]));
  for (const { avg_tick_duration_ms: ms } of health) expect(Number(ms)).toBeLessThan(30_000);
  const [totals] = await db.query<{ claimed: number; failed: number; tenants: number }>(
    `select sum(jobs_claimed)::integer as claimed, sum(jobs_failed)::integer as failed,
       (select count(distinct t.name)::integer from fairmill.worker_tick_metrics m, jsonb_object_keys(m.tenant_jobs) as t (name)) as tenants
     from fairmill.worker_tick_metrics`,
  );
  // Each failure and each claim is in one row: of the flaky ones a third fails never, a third once, a third twice.
  const failures = Array.from({ length: JOBS / 3 }, (_, n) => n % 3).reduce((sum, count) => sum + count, 0);
  expect(totals!.failed).toBe(failures);
  expect(totals!.claimed).toBeGreaterThanOrEqual(2 * JOBS + failures);
  expect(totals!.tenants).toBe(TENANTS);
});
