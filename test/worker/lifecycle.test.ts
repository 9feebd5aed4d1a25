// A worker's life: starting, stopping, and both at the wrong moment.
import { createClient, createWorker, defineJob, handle, silentLogger, type Worker } from "fairmill";
import { ShutdownError } from "fairmill/errors";
import { describe, expect, test } from "vitest";
import { withoutTimersOf } from "../support/clocks.js";
import { freshDatabase, useDatabase } from "../support/database.js";
import { begun, endOf, eventOf, gate, inState, startWorker, untilAborted } from "../support/jobs.js";
import { claimNo } from "../support/lease-no.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "job" });
const newWorker = (run: Parameters<typeof handle<{ n: number }, { n: number }>>[1] = () => "done") =>
  createWorker({ databaseUrl: db.url, handlers: [handle(job, run)], logger: silentLogger, grace: "5s" });
const row = async (worker: Worker) =>
  (await db.query("select state, ended_at is not null as ended from fairmill.worker where id = $1", [worker.id]))[0];

describe("starting", () => {
  test("A2: registers the worker with what it is and does, and announces it", async () => {
    await using worker = createWorker({
      databaseUrl: db.url,
      handlers: [handle(job, () => 1), handle(defineJob({ kind: "other", queue: "slow" }), () => 1)],
      queues: { default: { concurrency: 7 }, slow: { concurrency: 2 } },
      lease: "9s",
      logger: silentLogger,
    });
    const started = eventOf(worker, "started");
    expect(await worker.start()).toBe(worker);
    expect(await started).toEqual({ worker: worker.id });
    const [known] = await db.query(
      "select *, lease_until - beat_at between '8 s' and '10 s' as has_lease from fairmill.worker where id = $1",
      [worker.id],
    );
    expect(known).toMatchObject({
      state: "alive",
      queues: ["default", "slow"],
      kinds: ["job", "other"],
      concurrency: 9,
      pid: process.pid,
      has_lease: true,
    });
  });

  test("twice is refused, one after the other and at once", async () => {
    await using worker = newWorker();
    const [first, second] = await Promise.allSettled([worker.start(), worker.start()]);
    expect(first.status).toBe("fulfilled");
    expect(second).toMatchObject({ status: "rejected", reason: { code: "FAIRMILL_WORKER_STATE" } });
    await expect(worker.start()).rejects.toThrow(/started once/);
    // The refusals did not harm it.
    await using client = createClient({ databaseUrl: db.url });
    const { id } = await client.enqueue(job, { n: 1 });
    expect(await client.result(id)).toBe("done");
  });

  test("on a database that is not migrated, or not there, says what to do and leaves nothing open", async () => {
    const fresh = await freshDatabase({ empty: true });
    const unmigrated = createWorker({ databaseUrl: fresh.url, handlers: [handle(job, () => 1)], logger: silentLogger });
    await expect(unmigrated.start()).rejects.toMatchObject({ code: "FAIRMILL_NOT_MIGRATED" });
    await unmigrated.stop();
    const nowhere = createWorker({
      databaseUrl: "postgres://postgres@127.0.0.1:1/nowhere",
      handlers: [handle(job, () => 1)],
      logger: silentLogger,
    });
    await expect(nowhere.start()).rejects.toMatchObject({ code: "FAIRMILL_DATABASE_UNREACHABLE" });
    await nowhere.stop();
    await fresh.drop();
    const gone = createWorker({ databaseUrl: fresh.url, handlers: [handle(job, () => 1)], logger: silentLogger });
    await expect(gone.start()).rejects.toMatchObject({
      code: "FAIRMILL_DATABASE_NOT_FOUND",
      message: expect.stringContaining("does not exist"),
    });
  });

  test("with a pool of the caller's uses it and leaves it open", async () => {
    await using client = createClient({ db: db.pool });
    {
      await using _ = await createWorker({
        db: db.pool,
        handlers: [handle(job, () => "pooled")],
        logger: silentLogger,
      }).start();
      const { id } = await client.enqueue(job, { n: 1 });
      expect(await client.result(id)).toBe("pooled");
    }
    expect((await db.query("select 1 as one"))[0]).toEqual({ one: 1 });
  });

  test("each time with a new id", async () => {
    await using first = await newWorker().start();
    await using second = await newWorker().start();
    expect(first.id).not.toBe(second.id);
    expect(first.id).toMatch(new RegExp(`-${process.pid}-`));
  });
});

describe("stopping", () => {
  test("before it started is allowed, and then it starts no more", async () => {
    const worker = newWorker();
    await worker.stop();
    await worker.stop();
    await expect(worker.start()).rejects.toThrow(/started once/);
    expect(await db.query("select * from fairmill.worker")).toEqual([]);
  });

  test("twice is the same promise, and the database knows", async () => {
    const worker = await newWorker().start();
    const stopped = eventOf(worker, "stopped");
    expect(worker.stop()).toBe(worker.stop());
    await worker.stop();
    expect(await stopped).toEqual({ worker: worker.id, released: 0 });
    expect(await row(worker)).toEqual({ state: "stopped", ended: true });
  });

  test("while it starts leaves nothing running behind", async () => {
    const worker = newWorker();
    const starting = worker.start();
    await worker.stop();
    await starting.catch(() => {});
    expect((await row(worker))?.["state"] ?? "stopped").toBe("stopped");
    // A session that is still connected is found after the test.
  });

  test("by `await using` stops when the block ends", async () => {
    let worker: Worker;
    {
      await using scoped = await newWorker().start();
      worker = scoped;
      expect(await row(worker)).toMatchObject({ state: "alive" });
    }
    expect(await row(worker)).toMatchObject({ state: "stopped" });
  });

  test("C12: lets a running job end, takes no other, and the job keeps its result", async () => {
    const began = gate();
    const mayEnd = gate();
    await using client = createClient({ databaseUrl: db.url });
    const worker = await createWorker({
      databaseUrl: db.url,
      handlers: [
        handle(job, async ({ input, signal }) => {
          began.open();
          await mayEnd.promise;
          return { n: input.n, aborted: signal.aborted };
        }),
      ],
      concurrency: 1,
      logger: silentLogger,
    }).start();
    const [first, second] = await client.enqueueMany(job, [{ input: { n: 1 } }, { input: { n: 2 } }]);
    await began.promise;
    const stopping = worker.stop();
    mayEnd.open();
    await stopping;
    expect(await client.job(first!.id)).toMatchObject({ state: "done", result: { n: 1, aborted: false }, attempt: 1 });
    expect(await client.job(second!.id)).toMatchObject({ state: "ready", attempt: 0 });
  });

  test("C12: when the grace is over, a running job is told so and goes back to the queue without spending the attempt", async () => {
    await using client = createClient({ databaseUrl: db.url });
    let reason: unknown;
    const first = await startWorker(db.url, [
      handle(job, async ({ signal }) => {
        await untilAborted(signal).catch((error: unknown) => {
          reason = error;
        });
        throw new Error("I was interrupted");
      }),
    ]);
    const id = await begun(client, first, job, { n: 1 });
    await first.stop({ grace: 50 });
    expect(reason).toBeInstanceOf(ShutdownError);
    expect(await client.job(id)).toMatchObject({
      state: "ready",
      attempt: 0,
      crashes: 0,
      leaseNo: claimNo(1),
      worker: null,
      failures: [],
    });
    await using _ = await startWorker(db.url, [handle(job, () => "second")]);
    expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1, leaseNo: claimNo(2), result: "second" });
  });

  test("C12: a handler that does not listen is left behind, its job is released all the same", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const never = gate();
    const worker = await startWorker(
      db.url,
      [
        handle(job, async () => {
          await never.promise;
          return "too late";
        }),
      ],
      { grace: 20, abortGrace: 50 },
    );
    const id = await begun(client, worker, job, { n: 1 });
    await worker.stop();
    expect(await client.job(id)).toMatchObject({ state: "ready", attempt: 0, failures: [] });
    // What it returns now does not count any more.
    never.open();
    await using _ = await startWorker(db.url, [handle(job, () => "second")]);
    expect(await endOf(client, id)).toMatchObject({ state: "done", result: "second" });
  });

  test("C12: what was claimed ahead and not started goes back at once, without spending the attempt", async () => {
    const mayEnd = gate();
    await using client = createClient({ databaseUrl: db.url });
    const all = await client.enqueueMany(
      job,
      Array.from({ length: 5 }, (_, n) => ({ input: { n } })),
    );
    const began = gate();
    const run = () => {
      began.open();
      return mayEnd.promise;
    };
    const worker = await startWorker(db.url, [handle(job, run)], { concurrency: 1, prefetch: 3 });
    await inState(client, all[3]!.id, "running");
    // In the database it runs a moment earlier: what has not begun goes back.
    await began.promise;
    const stopping = worker.stop();
    for (const { id } of all.slice(1))
      expect(await inState(client, id, "ready")).toMatchObject({ attempt: 0, failures: [] });
    mayEnd.open();
    await stopping;
    expect(await client.job(all[0]!.id)).toMatchObject({ state: "done" });
  });

  test.each<[string, unknown, RegExp]>([
    ["a text that is none", { grace: "soon" }, /^grace: "soon" is not a duration/],
    ["no number", { grace: Number.NaN }, /^grace: NaN/],
    ["an unknown name", { graceMs: 5_000 }, /^stop: unknown setting "graceMs"\. Did you mean "grace"/],
    ["nothing at all", null, /^stop: null is no object of settings/],
  ])("with %s for a grace is refused, and the worker goes on", async (_, options, message) => {
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await newWorker().start();
    const refused = await worker.stop(options as never).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "FAIRMILL_CONFIG", message: expect.stringMatching(message) });
    const { id } = await client.enqueue(job, { n: 1 });
    expect(await client.result(id)).toBe("done");
  });

  // Under this clock no grace and no interval ever ends: a stop that waits for one would wait for ever.
  const impatient = () =>
    createWorker({
      databaseUrl: db.url,
      handlers: [handle(job, () => "done")],
      logger: silentLogger,
      clock: withoutTimersOf(1_000),
    });

  test("an idle worker stops at once", async () => {
    const worker = impatient();
    const idle = eventOf(worker, "idle");
    await worker.start();
    await idle;
    await worker.stop();
  });

  test("a worker that has only just started stops at once", async () => {
    const worker = await impatient().start();
    await worker.stop();
  });
});
