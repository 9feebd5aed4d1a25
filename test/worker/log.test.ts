// A9: what a worker writes into the log: started, claimed, completed in so many seconds, failed and why.
import { type Client, createClient, createWorker, defineJob, fixed, handle, snooze } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { asleep, begun, endOf, eventOf, gate, inState, keepingLogger, startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();

test("A2 A9: a worker's life and a job's good end", async () => {
  const logger = keepingLogger();
  const work = defineJob({ kind: "work" });
  await using client = createClient({ databaseUrl: db.url });
  const worker = await startWorker(db.url, [handle(work, () => new Promise((resolve) => setTimeout(resolve, 20)))], {
    logger,
  });
  const settled = eventOf(worker, "settled", ({ ids }) => ids.length > 0);
  const since = Date.now();
  const { id } = await client.enqueue(work, {}, { tenant: "acme" });
  // Of the worker: the database knows of the end before the worker hears that it does.
  await settled;
  await worker.stop();
  const longest = (Date.now() - since) / 1000;
  const facts = { worker: worker.id, job: id, kind: "work", tenant: "acme", attempt: 1 };
  const line = (message: string) => logger.lines.find((each) => each.message === message);
  expect(line("Worker started")).toEqual({
    level: "info",
    message: "Worker started",
    facts: expect.objectContaining({ worker: worker.id, queues: { default: 10 }, kinds: ["work"] }),
  });
  expect(line("Jobs claimed")).toMatchObject({ level: "info", facts: { worker: worker.id, count: 1, jobs: [id] } });
  expect(line("Job completed")).toEqual({
    level: "info",
    message: "Job completed",
    facts: { ...facts, duration: expect.stringMatching(/^\d+\.\d+s$/) },
  });
  const duration = Number.parseFloat(String(line("Job completed")?.facts?.duration));
  expect(duration).toBeGreaterThan(0.015);
  expect(duration).toBeLessThanOrEqual(longest + 0.01);
  expect(line("Worker stopping")).toMatchObject({ level: "info", facts: { worker: worker.id } });
  expect(line("Worker stopped")).toMatchObject({ level: "info", facts: { worker: worker.id, released: 0 } });
  // In the order in which things happened.
  const order = ["Worker started", "Jobs claimed", "Job completed", "Worker stopping", "Worker stopped"];
  const messages = logger.lines.map(({ message }) => message).filter((message) => order.includes(message));
  expect(messages).toEqual(order);
});

test("A9: a failure says why and when the job is tried again, and the last one that it was the last", async () => {
  const logger = keepingLogger();
  const flaky = defineJob({ kind: "flaky", retry: { attempts: 2, backoff: fixed(10) } });
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(
    db.url,
    [
      handle(flaky, () => {
        throw new Error("no paper");
      }),
    ],
    { logger },
  );
  const { id } = await client.enqueue(flaky, {});
  await endOf(client, id);
  await waitUntil("both lines are written", () =>
    logger.lines.some(({ message }) => message === "Job failed for good"),
  );
  const facts = { worker: worker.id, job: id, kind: "flaky", outcome: "failed", error: "no paper" };
  expect(logger.lines).toContainEqual({
    level: "warn",
    message: "Job failed, will be retried",
    facts: expect.objectContaining({ ...facts, attempt: 1, retryInMs: 10 }),
  });
  expect(logger.lines).toContainEqual({
    level: "error",
    message: "Job failed for good",
    facts: expect.objectContaining({ ...facts, attempt: 2 }),
  });
});

test("A9: other ends have their lines, too", async () => {
  const logger = keepingLogger();
  const dozing = defineJob({ kind: "dozing" });
  const held = defineJob({ kind: "held" });
  await using client = createClient({ databaseUrl: db.url });
  const worker = await startWorker(
    db.url,
    [
      handle(dozing, () => snooze("1h")),
      handle(
        held,
        ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      ),
    ],
    { logger, grace: 10 },
  );
  const listening = eventOf(worker, "listening", ({ working }) => working);
  const nap = await client.enqueue(dozing, {});
  await inState(client, nap.id, "scheduled");
  await listening;
  const cancelled = await begun(client, worker, held, {});
  await client.cancel(cancelled);
  await endOf(client, cancelled);
  const released = await begun(client, worker, held, {});
  await worker.stop();
  const messages = new Map(logger.lines.map(({ message, facts }) => [message, facts]));
  expect(messages.get("Job snoozed")).toMatchObject({ job: nap.id, againInMs: 3_600_000 });
  expect(messages.get("Job cancelled")).toMatchObject({ job: cancelled });
  expect(messages.get("Job released")).toMatchObject({ job: released });
});

test("A9: every job of a large claim is named, on lines of bounded length", async () => {
  const logger = keepingLogger();
  const work = defineJob<{ n: number }>({ kind: "work" });
  await using client = createClient({ databaseUrl: db.url });
  const enqueued = await client.enqueueMany(
    work,
    Array.from({ length: 1_200 }, (_, n) => ({ input: { n } })),
  );
  const worker = createWorker({
    databaseUrl: db.url,
    handlers: [handle(work, () => undefined)],
    concurrency: 1_200,
    logger,
  });
  const sizes: number[] = [];
  worker.events.on("claimed", ({ claims }) => sizes.push(claims.length));
  const claimed = eventOf(worker, "claimed", ({ claims }) => claims.length === 1_200);
  await worker.start();
  await claimed;
  await waitUntil("all are done", async () => (await db.query("select from fairmill.job limit 1")).length === 0);
  await worker.stop();
  const lines = logger.lines.filter(({ message }) => message === "Jobs claimed");
  expect(lines.flatMap(({ facts }) => facts["jobs"] as string[]).sort()).toEqual(enqueued.map(({ id }) => id).sort());
  expect(Math.max(...lines.map(({ facts }) => (facts["jobs"] as string[]).length))).toBeLessThanOrEqual(500);
  expect(lines.map(({ facts }) => facts["count"])).toEqual([1_200, 1_200, 1_200]);
});

test('A9: "Reset N stuck jobs" when the jobs of a dead worker are taken over', async () => {
  const logger = keepingLogger();
  const work = defineJob({ kind: "work" });
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(work, [{ input: {} }, { input: {} }]);
  await db.query("select fairmill.register_v1('dead', array['default'])");
  await db.query("select from fairmill.claim_v1('dead', jobs_max => 2)");
  await db.query("update fairmill.worker set lease_until = now() - interval '1 second' where id = 'dead'");
  await using _ = await startWorker(db.url, [handle(work, () => undefined)], { logger });
  await waitUntil("the line is written", () =>
    logger.lines.some(({ message }) => message === "Reset 2 stuck jobs: their workers are dead"),
  );
  await waitUntil("all are done", async () => (await db.query("select from fairmill.job limit 1")).length === 0);
});

describe("C3: what a limit holds back is told, whichever limit it is", () => {
  test.each([
    ["tenant", "cap", (client: Client) => client.tenants.set("acme", { maxRunning: 1 }), "acme"],
    ["queue", "cap", (client: Client) => client.queues.set("default", { maxRunning: 1 }), "default"],
    ["kind", "cap", (client: Client) => client.kinds.set("work", { maxRunning: 1 }), "work"],
    ["tenant", "rate", (client: Client) => client.tenants.set("acme", { rate: { limit: 1, per: "1h" } }), "acme"],
    ["queue", "rate", (client: Client) => client.queues.set("default", { rate: { limit: 1, per: "1h" } }), "default"],
    ["kind", "rate", (client: Client) => client.kinds.set("work", { rate: { limit: 1, per: "1h" } }), "work"],
  ] as const)("of a %s, its %s: one line, however often it is asked", async (scope, limit, set, name) => {
    const logger = keepingLogger();
    const work = defineJob({ kind: "work" });
    const mayEnd = gate();
    await using client = createClient({ databaseUrl: db.url });
    await set(client);
    await client.enqueueMany(
      work,
      Array.from({ length: 5 }, () => ({ input: {}, tenant: "acme" })),
    );
    const worker = createWorker({
      databaseUrl: db.url,
      handlers: [handle(work, () => mayEnd.promise)],
      logger,
      poll: 20,
    });
    const heard: unknown[] = [];
    worker.events.on("throttled", ({ closed }) => heard.push(closed));
    await worker.start();
    await waitUntil("the worker was held back more than once", () => heard.length > 2);
    mayEnd.open();
    await worker.stop();
    expect(heard[0]).toMatchObject([{ scope, name, why: limit }]);
    const lines = logger.lines.filter(({ facts }) => facts["skipped_throttle"]);
    expect(lines).toMatchObject([
      { level: "info", facts: { worker: worker.id, skipped_throttle: true, scope, name, limit } },
    ]);
    const [row] = await db.query("select max(attempt) as attempt from fairmill.job where state = 'ready'");
    expect(row).toEqual({ attempt: 0 });
    await db.query("delete from fairmill.job");
  });

  test("the rate of a key, which puts jobs back", async () => {
    const logger = keepingLogger();
    const work = defineJob({ kind: "work", key: () => "ann", limits: { rate: { limit: 1, per: "1h" } } });
    await using client = createClient({ databaseUrl: db.url });
    await client.enqueueMany(
      work,
      Array.from({ length: 3 }, () => ({ input: {}, tenant: "acme" })),
    );
    const worker = createWorker({ databaseUrl: db.url, handlers: [handle(work, () => undefined)], logger });
    const throttled = eventOf(worker, "throttled", ({ rateLimited }) => rateLimited.length > 0);
    await worker.start();
    expect(await throttled).toMatchObject({ rateLimited: [{ tenant: "acme", count: 2 }] });
    await worker.stop();
    expect(logger.lines.filter(({ facts }) => facts["skipped_throttle"])).toMatchObject([
      { facts: { scope: "key", tenant: "acme", limit: "rate", rateLimited: 2 } },
    ]);
    await db.query("delete from fairmill.job");
  });

  test("a pause is no limit", async () => {
    const logger = keepingLogger();
    const work = defineJob({ kind: "work" });
    await using client = createClient({ databaseUrl: db.url });
    await client.pause({ tenant: "acme" });
    await client.enqueue(work, {}, { tenant: "acme" });
    await using worker = await startWorker(db.url, [handle(work, () => undefined)], { logger });
    await asleep(worker);
    expect(logger.lines.filter(({ facts }) => facts["skipped_throttle"])).toEqual([]);
    await db.query("delete from fairmill.job");
  });
});

describe("listeners", () => {
  test("that throw do no harm: the job is run and settled, and the trouble is announced", async () => {
    const work = defineJob({ kind: "work" });
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(work, () => "fine")]);
    const troubles: string[] = [];
    worker.events.on("trouble", ({ doing }) => troubles.push(doing));
    for (const name of ["claimed", "running", "ended", "settled", "idle"] as const)
      worker.events.on(name, () => {
        throw new Error("a listener's own trouble");
      });
    for (let i = 0; i < 3; i++) {
      const { id } = await client.enqueue(work, {});
      expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1, worker: worker.id });
    }
    for (const name of ["claimed", "running", "ended", "settled"])
      expect(troubles).toContain(`telling listeners of "${name}"`);
  });

  test("that reject do no harm either", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", note);
    const work = defineJob({ kind: "work" });
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(work, () => "fine")]);
    const trouble = eventOf(worker, "trouble");
    for (const name of ["settled", "trouble"] as const)
      worker.events.on(name, async () => {
        throw new Error("a listener's own trouble");
      });
    const { id } = await client.enqueue(work, {});
    expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1 });
    expect(await trouble).toMatchObject({ doing: 'telling listeners of "settled"' });
    await worker.stop();
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });

  test("hear of every step of a job, in order", async () => {
    const work = defineJob({ kind: "work" });
    const mayEnd = gate();
    const heard: string[] = [];
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(work, () => mayEnd.promise)]);
    worker.events.on("claimed", ({ claims }) => heard.push(...claims.map((claim) => `claimed ${claim.id}`)));
    worker.events.on("running", ({ claim }) => heard.push(`running ${claim.id}`));
    worker.events.on("ended", ({ claim, verdict }) => heard.push(`ended ${claim.id} ${verdict.verdict}`));
    worker.events.on("settled", ({ ids }) => heard.push(...ids.map((id) => `settled ${id}`)));
    const running = eventOf(worker, "running");
    const settled = eventOf(worker, "settled", ({ ids }) => ids.length > 0);
    const { id } = await client.enqueue(work, {});
    await running;
    mayEnd.open();
    await settled;
    expect(heard).toEqual([`claimed ${id}`, `running ${id}`, `ended ${id} done`, `settled ${id}`]);
  });
});
