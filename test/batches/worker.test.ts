// E2 with workers: callbacks run when everything is over, members add members, and no job waits in a slot.
import { createClient, createWorker, defineJob, handle, NonRetryableError } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { eventOf, gate, keepingLogger, startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const page = defineJob<{ n: number }>({ kind: "page" });
const report = defineJob<{ of: string }>({ kind: "report" });

const ended = (client: ReturnType<typeof createClient>, id: string) => client.batches.wait(id, { timeout: "20s" });

test("E2: a batch of 300, its callback runs once, after all of them", async () => {
  const seen: (number | string)[] = [];
  const calls: unknown[] = [];
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(page, async (ctx) => {
      if (ctx.input.n === 0) calls.push(await ctx.calledBy());
      seen.push(ctx.input.n);
    }),
    handle(report, async (ctx) => {
      calls.push(await ctx.calledBy());
      seen.push(ctx.input.of);
    }),
  ]);
  const { id, added } = await client.batches.create(
    {
      name: "book",
      onSuccess: { job: report, input: { of: "success" } },
      onComplete: { job: report, input: { of: "complete" } },
    },
    async (batch) => {
      for (let n = 0; n < 300; n++) await batch.add(page, { n });
    },
  );
  expect(added).toBe(300);
  await waitUntil("both callbacks ran", () => seen.length === 302);
  expect(seen.slice(0, 300).toSorted((a, b) => Number(a) - Number(b))).toEqual(
    Array.from({ length: 300 }, (_, n) => n),
  );
  expect(seen.slice(300).toSorted()).toEqual(["complete", "success"]);
  expect(calls[0]).toBeUndefined();
  expect(calls.slice(1)).toEqual(
    expect.arrayContaining([
      { batch: id, event: "success" },
      { batch: id, event: "complete" },
    ]),
  );
  expect(await client.batches.get(id)).toMatchObject({ name: "book", state: "succeeded", done: 300, live: 0, dead: 0 });
  expect((await client.batches.list({ state: "succeeded" })).map((batch) => batch.id)).toEqual([id]);
});

test("E3: a member adds members while it runs, and they theirs: over when the last one is", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(page, async (ctx) => {
      if (ctx.input.n === 0) return;
      await ctx.batch!.add(page, { n: ctx.input.n - 1 });
      await ctx.batch!.add(page, { n: ctx.input.n - 1 });
    }),
  ]);
  const { id } = await client.batches.create({}, (batch) => batch.add(page, { n: 5 }));
  expect(await ended(client, id)).toMatchObject({ state: "succeeded", done: 63 });
});

test("E8: what a handler adds to a batch is logged and announced by its worker", async () => {
  const logger = keepingLogger();
  await using client = createClient({ databaseUrl: db.url });
  await using worker = createWorker({
    databaseUrl: db.url,
    logger,
    handlers: [
      handle(page, async (ctx) => {
        if (ctx.input.n > 0) await ctx.batch!.add(page, { n: 0 });
        // Not in the batch: nothing is registered.
        if (ctx.input.n > 0) await ctx.enqueue(page, { n: 0 });
      }),
    ],
  });
  const heard: object[] = [];
  worker.events.on("registered", (registration) => void heard.push(registration));
  await worker.start();
  const { id } = await client.batches.create({}, (batch) => batch.add(page, { n: 1 }));
  expect(await ended(client, id)).toMatchObject({ state: "succeeded", done: 2 });
  expect(heard).toEqual([{ worker: worker.id, job: null, kind: "page", batch: id }]);
  const lines = logger.lines.filter(({ message }) => message === "Job registered in batch");
  expect(lines).toMatchObject([{ level: "debug", facts: { worker: worker.id, kind: "page", batch: id } }]);
});

test("a job without a batch has none", async () => {
  const told = gate<unknown[]>();
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [handle(page, (ctx) => told.open([ctx.batch, ctx.flow]))]);
  await client.enqueue(page, { n: 1 });
  expect(await told.promise).toEqual([null, null]);
});

test("onDeath runs while others still work; a batch inside fails the one around it", async () => {
  const go = gate();
  const told: string[] = [];
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(page, async ({ input }) => {
      if (input.n === 0) throw new NonRetryableError("torn");
      await go.promise;
    }),
    handle(report, ({ input }) => void told.push(input.of)),
  ]);
  const outer = await client.batches.open({ name: "outer" });
  const inner = await client.batches.create(
    { parent: outer.id, onDeath: { job: report, input: { of: "death" } } },
    async (batch) => {
      await batch.add(page, { n: 0 });
      await batch.add(page, { n: 1 });
    },
  );
  await waitUntil("the death was told", () => told.length === 1);
  expect(await client.batches.get(inner.id)).toMatchObject({ state: "pending", live: 1 });
  await outer.close();
  go.open();
  expect(await ended(client, outer.id)).toMatchObject({ state: "failed", failed: 1, done: 1 });
  expect(told).toEqual(["death"]);
});

describe("open batches", () => {
  test("E5: producers add by its number; closed, it waits until registrations are stable, in no worker's slot", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(page, () => {})], { queues: { default: { concurrency: 1 } } });
    const batch = await client.batches.open({ stability: { stabilityWindow: "300ms", maxWait: "10s" } });
    await client.enqueue(page, { n: 1 }, { batch: batch.id });
    await batch.add(page, { n: 2 });
    await waitUntil("both are done", async () => (await client.batches.get(batch.id))!.done === 2);
    expect(await batch.close()).toBe("pending");
    // One that was on its way.
    await client.enqueue(page, { n: 3 }, { batch: batch.id });
    const over = await ended(client, batch.id);
    expect(over).toMatchObject({ state: "succeeded", done: 3 });
    const [last] = await client.jobs.list({ limit: 1 });
    expect(over.endedAt!.getTime() - last!.createdAt.getTime()).toBeGreaterThanOrEqual(299);
    await expect(client.enqueue(page, { n: 4 }, { batch: batch.id })).rejects.toMatchObject({
      code: "FAIRMILL_BATCH_ENDED",
      batch: batch.id,
    });
  });

  test("E8: that it is stable is logged and announced, with the number of registered jobs and the time of the last", async () => {
    const logger = keepingLogger();
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(page, () => {})], { logger });
    const batch = await client.batches.open({ stability: { stabilityWindow: "1s", maxWait: "10s" } });
    const stable = eventOf(worker, "stable");
    for (let n = 0; n < 3; n++) await batch.add(page, { n });
    await waitUntil("all are done", async () => (await client.batches.get(batch.id))!.done === 3);
    expect(await batch.close()).toBe("pending");
    const [last] = await client.jobs.list({ limit: 1 });
    const facts = { worker: worker.id, batch: batch.id, registered: 3 };
    expect(await stable).toEqual({ ...facts, lastRegisteredAt: last!.createdAt });
    expect(logger.lines).toContainEqual({
      level: "info",
      message: "Batch is stable, and over",
      facts: { ...facts, lastRegisteredAt: last!.createdAt.toISOString() },
    });
  });

  test("E7 E9: without jobs, or with the window switched off, it is over when it is closed", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(page, () => {})]);
    expect(await (await client.batches.open()).close()).toBe("succeeded");
    const batch = await client.batches.open({ stability: false });
    await batch.add(page, { n: 1 });
    await waitUntil("it is done", async () => (await client.batches.get(batch.id))!.done === 1);
    expect(await batch.close()).toBe("succeeded");
    expect(await batch.close()).toBeUndefined();
  });

  test("another process holds it, for longer, and lets go", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const batch = await client.batches.open({ stability: false });
    const hold = await client.batches.hold(batch.id, { for: "1m" });
    expect(await batch.close()).toBe("pending");
    await hold.extend("5m");
    expect(await hold.release()).toBe("succeeded");
    await expect(hold.extend()).rejects.toMatchObject({ code: "FAIRMILL_BATCH_ENDED" });
    await expect(client.batches.hold(batch.id)).rejects.toMatchObject({ code: "FAIRMILL_BATCH_ENDED" });
  });

  test("a hold that runs out: the batch ends as failed by itself", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [handle(page, () => {})]);
    const { id } = await client.batches.open({ hold: "50ms" });
    expect(await ended(client, id)).toMatchObject({ state: "failed", lost: 1 });
  });
});

test("waiting for the end of a batch: told when it is over, when the time is, and when there is none", async () => {
  const go = gate();
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [handle(page, () => go.promise)]);
  const { id } = await client.batches.create({}, (batch) => batch.add(page, { n: 1 }));
  await expect(client.batches.wait(id, { timeout: 20 })).rejects.toMatchObject({
    code: "FAIRMILL_BATCH_TIMEOUT",
    message: expect.stringContaining("1 of its jobs"),
  });
  const waiting = client.batches.wait(id);
  go.open();
  expect(await waiting).toMatchObject({ id, state: "succeeded", done: 1 });
  await expect(client.batches.wait("999999")).rejects.toMatchObject({ code: "FAIRMILL_BATCH_NOT_FOUND" });
  await expect(client.flows.wait(id)).rejects.toMatchObject({ code: "FAIRMILL_BATCH_NOT_FOUND" });
});

test("cancel the rest: what waits ends, what runs is told", async () => {
  const begun = gate();
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(
    db.url,
    [
      handle(page, async (ctx) => {
        begun.open();
        await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
      }),
    ],
    { queues: { default: { concurrency: 1 } } },
  );
  const { id } = await client.batches.create({}, async (batch) => {
    for (let n = 0; n < 10; n++) await batch.add(page, { n });
  });
  await begun.promise;
  await client.batches.cancel(id);
  expect(await ended(client, id)).toMatchObject({ state: "cancelled", cancelled: 10 });
  await expect(client.batches.cancel("999999")).rejects.toMatchObject({ code: "FAIRMILL_BATCH_NOT_FOUND" });
});
