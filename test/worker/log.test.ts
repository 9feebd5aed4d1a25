// A9: what a worker writes into the log: started, claimed, completed in so many seconds, failed and why.
import { createClient, defineJob, fixed, handle, snooze } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { begun, endOf, eventOf, gate, inState, keepingLogger, startWorker } from "../support/jobs.js";
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

describe("listeners", () => {
  test("that throw harm nobody: the job is run and settled, and the trouble is announced", async () => {
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

  test("that reject harm nobody either", async () => {
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
