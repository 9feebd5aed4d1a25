// B6: when jobs start, and when it is too late for them; B8: who goes first; F5: progress.
import { createClient, defineJob, fixed, handle } from "fairmill";
import { describe, expect, test } from "vitest";
import { withoutTimersOf } from "../../support/clocks.js";
import { useDatabase } from "../../support/database.js";
import { asleep, begun, endOf, eventOf, gate, listens, startWorker } from "../../support/jobs.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const job = defineJob<object>({ kind: "job" });
/** The worker never just looks around: it is told, or it set a timer for the very moment. */
const options = { clock: withoutTimersOf(1_000) };

describe("a scheduled job", () => {
  test.each(["before the worker starts", "while it starts", "while it sleeps"])(
    "enqueued %s starts at its time, not before, and not only when a worker looks around",
    async (when) => {
      await using client = createClient({ databaseUrl: db.url });
      const enqueue = () => client.enqueue(job, {}, { delay: 300 });
      const early = when === "before the worker starts" ? await enqueue() : undefined;
      await using worker = await startWorker(db.url, [handle(job, () => "ran")], options);
      if (when === "while it sleeps") {
        await listens(worker);
        await waitUntil("the database knows that it wants to be woken", async () => {
          const [row] = await db.query("select listening from fairmill.worker where id = $1", [worker.id]);
          return row!["listening"];
        });
      }
      const { id } = early ?? (await enqueue());
      const { createdAt, runAt, startedAt, state } = await endOf(client, id);
      expect(state).toBe("done");
      expect(runAt!.getTime() - createdAt.getTime()).toBe(300);
      expect(startedAt!.getTime() - createdAt.getTime()).toBeGreaterThanOrEqual(300);
    },
  );

  test("of the past or of now is not held up by those of the future", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const future = await client.enqueueMany(
      job,
      Array.from({ length: 50 }, () => ({ input: {}, delay: "1h" as const })),
    );
    await using _ = await startWorker(db.url, [handle(job, () => "ran")], options);
    const { id } = await client.enqueue(job, {}, { runAt: new Date(Date.now() - 60_000) });
    expect(await endOf(client, id)).toMatchObject({ state: "done" });
    expect(await client.job(future[0]!.id)).toMatchObject({ state: "scheduled" });
  });

  test("that is retried by hand runs now", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(job, () => "ran")], options);
    await asleep(worker);
    const { id } = await client.enqueue(job, {}, { delay: "1h" });
    expect(await client.retry(id)).toBe("ready");
    expect(await endOf(client, id)).toMatchObject({ state: "done" });
  });

  test("a retry is due at its time, although the worker slept when it failed", async () => {
    const flaky = defineJob({ kind: "flaky", retry: { attempts: 2, backoff: fixed(200) } });
    await using client = createClient({ databaseUrl: db.url });
    const failingOnce = handle(flaky, ({ attempt }) => {
      if (attempt === 1) throw new Error("once");
    });
    await using worker = await startWorker(db.url, [failingOnce], options);
    await asleep(worker);
    const { id } = await client.enqueue(flaky, {});
    const ended = await endOf(client, id);
    const waitedMs = ended.startedAt!.getTime() - ended.failures[0]!.endedAt.getTime();
    expect(waitedMs).toBeGreaterThanOrEqual(199);
  });
});

describe("B6: time to live", () => {
  const mortal = defineJob({ kind: "mortal", queue: "mortal", expire: 150 });

  test("a job that waited too long ends as dead and says so, although no worker could run it", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const { id } = await client.enqueue(mortal, {});
    await using _ = await startWorker(db.url, [handle(job, () => 1)]);
    const ended = await endOf(client, id);
    expect(ended).toMatchObject({ state: "dead", attempt: 0, worker: null, error: { code: "FAIRMILL_EXPIRED" } });
    expect(ended.endedAt!.getTime()).toBeGreaterThanOrEqual(ended.expireAt!.getTime());
  });

  test("a job that waited too long is not run any more", async () => {
    let runs = 0;
    await using client = createClient({ databaseUrl: db.url });
    const { id } = await client.enqueue(mortal, {});
    await waitUntil("its time is over", async () => {
      const [row] = await db.query("select expire_at < now() as over from fairmill.job where id = $1", [id]);
      return row!["over"];
    });
    await using _ = await startWorker(db.url, [handle(mortal, () => ++runs)]);
    expect(await endOf(client, id)).toMatchObject({ state: "dead", error: { code: "FAIRMILL_EXPIRED" } });
    expect(runs).toBe(0);
  });

  test("a job that started in time may take as long as it likes", async () => {
    const mayEnd = gate();
    const patient = defineJob({ kind: "patient", expire: "1h" });
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(patient, () => mayEnd.promise)]);
    const id = await begun(client, worker, patient, {});
    // Its hour is over while it runs.
    await db.query(
      "update fairmill.job set created_at = created_at - interval '2h', expire_at = expire_at - interval '2h' where id = $1",
      [id],
    );
    await db.query("select fairmill.tick_upkeep_v1()");
    mayEnd.open();
    expect(await endOf(client, id)).toMatchObject({ state: "done" });
  });
});

test("B8: of jobs that wait together the higher priority goes first, the older one within it", async () => {
  const order: string[] = [];
  const named = defineJob<{ name: string }>({ kind: "named" });
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(named, [
    { input: { name: "low" }, priority: -5 },
    { input: { name: "usual 1" } },
    { input: { name: "high 1" }, priority: 10 },
    { input: { name: "usual 2" } },
    { input: { name: "high 2" }, priority: 10 },
  ]);
  await using worker = await startWorker(db.url, [handle(named, ({ input }) => void order.push(input.name))], {
    concurrency: 1,
  });
  await eventOf(worker, "idle", () => order.length === 5);
  expect(order).toEqual(["high 1", "high 2", "usual 1", "usual 2", "low"]);
});

describe("F5: progress", () => {
  test("the latest value is seen while the job runs, and kept after it ended", async () => {
    const mayEnd = gate();
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [
      handle(job, async (ctx) => {
        for (let percent = 0; percent <= 40; percent++) ctx.progress({ percent });
        await mayEnd.promise;
        return "result";
      }),
    ]);
    const { id } = await client.enqueue(job, {});
    const running = await waitUntil("the progress is seen", async () => {
      const now = await client.job(id);
      return now?.progress ? now : undefined;
    });
    expect(running).toMatchObject({ state: "running", progress: { percent: 40 } });
    mayEnd.open();
    expect(await endOf(client, id)).toMatchObject({ state: "done", result: "result", progress: { percent: 40 } });
  });

  test("values that are no JSON are ignored, and text that PostgreSQL refuses is cleaned", async () => {
    const mayEnd = gate();
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [
      handle(job, async (ctx) => {
        ctx.progress("step\0 1");
        ctx.progress(() => 1);
        ctx.progress(5n);
        await mayEnd.promise;
      }),
    ]);
    const { id } = await client.enqueue(job, {});
    await waitUntil("the progress is seen", async () => (await client.job(id))?.progress === "step\ufffd 1");
    mayEnd.open();
    expect(await endOf(client, id)).toMatchObject({ state: "done" });
  });

  test("reported after the job ended, or by a run that lost its lease, changes nothing", async () => {
    const reported = gate();
    const mayReport = gate();
    let report: ((value: unknown) => void) | undefined;
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [
      handle(job, (ctx) => {
        report = (value) => ctx.progress(value);
        void mayReport.promise.then(() => {
          ctx.progress("too late");
          reported.open();
        });
      }),
    ]);
    const { id } = await client.enqueue(job, {});
    await endOf(client, id);
    mayReport.open();
    await reported.promise;
    report!("later still");
    await worker.stop();
    expect(await client.job(id)).toMatchObject({ state: "done", progress: null });
  });
});

test("a due job that another session has locked does not make the worker ask for it all the time", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(job, {}, { delay: 50 });
  const tx = await db.pool.connect();
  await tx.query("begin");
  await tx.query("select from fairmill.job where id = $1 for update", [id]);
  await using worker = await startWorker(db.url, [handle(job, () => "ran")]);
  await asleep(worker);
  const commits = async () => {
    await db.query("select pg_stat_clear_snapshot()");
    const [row] = await db.query("select xact_commit from pg_stat_database where datname = current_database()");
    return Number(row!["xact_commit"]);
  };
  const before = await commits();
  const beganMs = performance.now();
  await tx.query("select pg_sleep(1.5)");
  const perSecond = ((await commits()) - before) / ((performance.now() - beganMs) / 1_000);
  // Asked for without a pause, it would be thousands.
  expect(perSecond).toBeLessThan(100);
  await tx.query("rollback");
  tx.release();
  expect(await endOf(client, id)).toMatchObject({ state: "done" });
});
