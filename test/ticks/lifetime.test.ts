// What ticks alone keep going: jobs of functions that were killed, delayed jobs, schedules; and what their rows say of it.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createClient, defineJob, handle, JobCancelledError } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { gate, keepingLogger, untilAborted } from "../support/jobs.js";
import { type Pooler, pgbouncer, startPooler, WHY_SKIPPED } from "../support/pgbouncer.js";
import { waitUntil } from "../support/wait.js";
import { tickHandler } from "./handlers.js";

const db = useDatabase();
const work = defineJob({ kind: "work" });
const handlers = [handle(work, () => "ran")];

test("the jobs of a killed function are back when its budget and a margin are over, and not before", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(work, {});
  const budgetMs = 20_000;
  const child = fork(new URL("./tick-process.mjs", import.meta.url), {
    env: { ...process.env, TEST_TICK: JSON.stringify({ url: db.url, budget: budgetMs }) },
  });
  expect((await once(child, "message"))[0]).toEqual({ held: id });
  child.kill("SIGKILL");
  await once(child, "exit");
  const [lease] = await db.query<{ ms: number; state: string }>(
    "select extract(epoch from lease_until - started_at)::float8 * 1000 as ms, state from fairmill.worker",
  );
  // What was left of the budget, and the margin: no more than both, and more than the budget alone less a slow start.
  expect(lease!.state).toBe("alive");
  expect(lease!.ms).toBeLessThanOrEqual(budgetMs + 5_000);
  expect(lease!.ms).toBeGreaterThan(5_000);
  // While the lease lasts, no other tick has it.
  expect(await tickHandler({ databaseUrl: db.url, handlers }).tick()).toMatchObject({ claimed: 0, remaining: 0 });
  expect(await client.job(id)).toMatchObject({ state: "running" });
  // Its time comes.
  await db.query(
    "update fairmill.worker set lease_until = clock_timestamp() - interval '1 millisecond' where state = 'alive'",
  );
  expect((await db.query("select fairmill.tick_due_v1() as due"))[0]).toEqual({ due: true });
  expect(await tickHandler({ databaseUrl: db.url, handlers }).tick()).toMatchObject({ claimed: 1, succeeded: 1 });
  expect(await client.job(id)).toMatchObject({ state: "done", crashes: 1 });
  const recovered = await db.query("select jobs_recovered from fairmill.worker_tick_metrics order by id desc limit 1");
  expect(recovered).toEqual([{ jobs_recovered: 1 }]);
});

test("ticks alone keep schedules ticking, and start jobs that were delayed", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.schedules.set("each minute", { cron: "* * * * *", job: work, input: {}, tenant: "clock" });
  const { id: delayed } = await client.enqueue(work, {}, { delay: "1h" });
  const handler = tickHandler({ databaseUrl: db.url, handlers });
  expect(await handler.tick()).toMatchObject({ claimed: 0 });
  expect((await db.query("select fairmill.tick_due_v1() as due"))[0]).toEqual({ due: false });
  await db.query("update fairmill.schedule set next_at = date_trunc('minute', now()), revision = revision + 1");
  expect((await db.query("select fairmill.tick_due_v1() as due"))[0]).toEqual({ due: true });
  expect(await handler.tick()).toMatchObject({ claimed: 1, succeeded: 1 });
  expect(
    await db.query("select count(*)::integer as ticks from fairmill.schedule_tick where job_id is not null"),
  ).toEqual([{ ticks: 1 }]);
  await db.query("update fairmill.job set run_at = now() where id = $1", [delayed]);
  expect((await db.query("select fairmill.tick_due_v1('{elsewhere}') as due"))[0]).toEqual({ due: true });
  expect(await handler.tick()).toMatchObject({ claimed: 1, succeeded: 1 });
  expect(await client.job(delayed)).toMatchObject({ state: "done" });
});

test("tick_due_v1 says no where nothing is due, and yes where a job is ready in the queues it was asked for", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const due = async (queues: string[] | null) =>
    (await db.query<{ due: boolean }>("select fairmill.tick_due_v1($1) as due", [queues]))[0]!.due;
  expect(await due(null)).toBe(false);
  await client.enqueue(work, {});
  expect([await due(null), await due(["default"]), await due(["other"]), await due(["other", "default"])]).toEqual([
    true,
    true,
    false,
    true,
  ]);
});

test("a running job that is cancelled is told so while its tick goes on, and ends as cancelled", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(work, {});
  const reasons: unknown[] = [];
  const patient = handle(work, ({ signal }) =>
    untilAborted(signal).catch((reason) => {
      reasons.push(reason);
      throw reason;
    }),
  );
  const ticking = tickHandler({ databaseUrl: db.url, handlers: [patient], budget: "60s" }).tick();
  await waitUntil("it runs", async () => (await client.job(id))!.state === "running");
  await client.cancel(id);
  expect(await ticking).toMatchObject({ claimed: 1, succeeded: 0, failed: 0 });
  expect(reasons).toEqual([expect.any(JobCancelledError)]);
  expect(await client.job(id)).toMatchObject({ state: "cancelled" });
});

test("progress is written while the tick goes on", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(work, {});
  const seen = gate();
  const reporting = handle(work, async ({ progress }) => {
    progress("half");
    await seen.promise;
  });
  const ticking = tickHandler({ databaseUrl: db.url, handlers: [reporting], budget: "60s" }).tick();
  await waitUntil("half is written", async () => (await client.job(id))!.progress === "half");
  seen.open();
  expect(await ticking).toMatchObject({ succeeded: 1 });
});

test("C3: jobs behind a tenant's limit are recorded as throttled, once a tick, and the log says skipped_throttle", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.tenants.set("acme", { maxRunning: 2 });
  for (let n = 0; n < 12; n++) await client.enqueue(work, {}, { tenant: "acme" });
  await client.enqueue(work, {}, { tenant: "free" });
  const logger = keepingLogger();
  // The tick may look at "free" first and need two claims: while all three run, the second of them finds the limit reached.
  const all = gate();
  let begun = 0;
  const together = handle(work, () => {
    if (++begun === 3) all.open();
    return all.promise;
  });
  const report = await tickHandler({ databaseUrl: db.url, handlers: [together], logger, maxJobsPerTick: 3 }).tick();
  expect(report).toMatchObject({ claimed: 3, throttled: 10, remaining: 10 });
  const [row] = await db.query("select jobs_throttled, throttled from fairmill.worker_tick_metrics");
  expect(row).toMatchObject({
    jobs_throttled: 10,
    throttled: [{ scope: "tenant", name: "acme", limit: "cap", jobs: 10 }],
  });
  expect(logger.lines.filter(({ facts }) => facts["skipped_throttle"] === true)).toHaveLength(1);
});

if (!pgbouncer) console.log(WHY_SKIPPED);
test.skipIf(!pgbouncer)(
  "behind PgBouncer in transaction mode, with one connection, a tick works as everywhere",
  async () => {
    const pooler: Pooler = await startPooler(db.url);
    await using client = createClient({ databaseUrl: pooler.url });
    const steps = handle(work, async (ctx) => {
      await ctx.step("one", () => 1);
      return ctx.step("two", () => 2);
    });
    for (let n = 0; n < 60; n++) await client.enqueue(work, {}, { tenant: `t${n % 3}` });
    const ticks = [1, 2].map(() =>
      tickHandler({ databaseUrl: pooler.url, handlers: [steps], connectionsMax: 1 }).tick(),
    );
    const reports = await Promise.all(ticks);
    expect(reports.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(60);
    expect(await pooler.onEach("select * from pg_listening_channels() as channel")).toEqual([]);
  },
);
