// One implementation serves the client and client.in(tx): both answer the same, value by value and type by type, and what is written inside
// a transaction is there at its commit.
import {
  type Client,
  createClient,
  createCodec,
  defineChannel,
  defineFlow,
  defineJob,
  fixed,
  handle,
  type TransactionClient,
} from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endOf, startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "job", retry: { attempts: 2, backoff: fixed(0) }, limits: { active: 5 } });
const keyed = defineJob<{ n: number }>({ kind: "keyed", key: () => "k", limits: { active: 1 } });
const paid = defineJob<object>({ kind: "paid", credits: { account: () => "ann", amount: 2 } });
const flow = defineFlow({ name: "flow" }, (nodes) => void nodes.job("first", job, () => ({ n: 0 })));
const channel = defineChannel<object>({ name: "mail", receiver: "neither", send: () => ({ said: "thanks" }) });
const cron = { cron: "0 3 * * *", timezone: "Europe/Madrid", job, input: { n: 7 } } as const;

let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

/** Runs work in a transaction that is committed, or rolled back where it throws. */
async function inTransaction<T>(work: (inside: TransactionClient) => Promise<T>, begin = "begin"): Promise<T> {
  const tx = await db.pool.connect();
  try {
    await tx.query(begin);
    const value = await work(client.in(tx));
    await tx.query("commit");
    return value;
  } catch (error) {
    await tx.query("rollback");
    throw error;
  } finally {
    tx.release();
  }
}

describe("what is read inside a transaction is what is read outside", () => {
  /** One of everything, with every column that may be null once null and once not. */
  async function filled() {
    await client.credits.grant("ann", 10, { reason: "a gift" });
    const { id: batch } = await client.batches.create({ name: "b", tenant: "acme" }, (adder) =>
      adder.add(job, { n: 1 }),
    );
    const { id: started } = await client.flows.start(flow, {});
    const { id: message } = await client.publish(channel, { to: "ann" }, { idempotencyKey: "k", orderKey: "o" });
    const { id: done } = await client.enqueue(job, { n: 2 }, { key: "k", tenant: "acme" });
    const { id: dead } = await client.enqueue(job, { n: -1 });
    const worker = await startWorker(
      db.url,
      [
        handle(job, async (ctx) => {
          if (ctx.input.n < 0) throw new Error("no");
          ctx.progress({ half: true });
          return { kept: await ctx.step("s", () => 1) };
        }),
      ],
      { channels: [channel] },
    );
    await endOf(client, done);
    await endOf(client, dead);
    await waitUntil("the message is sent", async () => (await client.outbox.get(message))?.status === "sent");
    await worker.stop();
    const { id: held } = await client.enqueue(paid, {}, { delay: "1h" });
    await client.jobs.rerun(dead, { input: { n: 5 }, delay: "1h" });
    await client.schedules.set("nightly", cron);
    await client.schedules.run("nightly");
    await client.tenants.set("acme", { weight: 2, maxRunning: 3, rate: { limit: 5, per: "1m", how: "uniform" } });
    await client.pause({ queue: "default" });
    return { batch, started, message, done, dead, held };
  }

  test("by every call that reads", async () => {
    const { batch, started, message, done, dead, held } = await filled();
    const reads: Record<string, (from: TransactionClient) => Promise<unknown>> = {
      "job, done": (from) => from.job(done),
      "job, dead": (from) => from.job(dead),
      "job, with credits": (from) => from.job(held),
      "why, done": (from) => from.why(done),
      "why, held": (from) => from.why(held),
      "why, message": (from) => from.why({ message }),
      "jobs.list": (from) => from.jobs.list(),
      "jobs.list of a batch": (from) => from.jobs.list({ batch }),
      "jobs.list by error": (from) => from.jobs.list({ errorText: "no", endedSince: "2020-01-01T00:00:00Z" }),
      "jobs.steps": (from) => from.jobs.steps(done),
      "dead.preview": (from) => from.dead.preview({}),
      "batches.get": (from) => from.batches.get(batch),
      "batches.list": (from) => from.batches.list({ role: "batch" }),
      "flows.get": (from) => from.flows.get(started),
      "flows.list": (from) => from.flows.list(),
      "schedules.get": (from) => from.schedules.get("nightly"),
      "schedules.list": (from) => from.schedules.list(),
      "schedules.next": (from) => from.schedules.next("nightly", 3),
      "outbox.get": (from) => from.outbox.get(message),
      "outbox.list": (from) => from.outbox.list({ channel: "mail" }),
      "credits.balance": (from) => from.credits.balance("ann"),
      "credits.statement": (from) => from.credits.statement("ann"),
      "tenants.get": (from) => from.tenants.get("acme"),
      "tenants.list": (from) => from.tenants.list(),
      "queues.get": (from) => from.queues.get("default"),
      "queues.list": (from) => from.queues.list(),
      "kinds.get": (from) => from.kinds.get("job"),
      "kinds.list": (from) => from.kinds.list(),
    };
    for (const [name, read] of Object.entries(reads)) {
      const outside = await read(client);
      expect(outside, name).toBeTruthy();
      if (Array.isArray(outside)) expect(outside.length, name).toBeGreaterThan(0);
      expect(await inTransaction(read), name).toEqual(outside);
    }
  });

  test("also where it is sealed", async () => {
    await client.close();
    client = createClient({
      databaseUrl: db.url,
      codec: createCodec({ keys: { a: Buffer.alloc(32, 1) }, current: "a" }),
    });
    const { id } = await client.enqueue(job, { n: 1 }, { delay: "1h" });
    const { id: message } = await client.publish("mail", { to: "ann" }, { idempotencyKey: "k" });
    expect(await inTransaction((inside) => inside.job(id))).toMatchObject({ payload: { n: 1 } });
    expect(await inTransaction((inside) => inside.outbox.get(message))).toMatchObject({ payload: { to: "ann" } });
    await client.cancel(id);
    const again = await inTransaction((inside) => inside.jobs.rerun(id));
    expect(await client.job(again.id)).toMatchObject({ payload: { n: 1 }, rerunOf: id });
  });
});

describe("what is written inside a transaction", () => {
  test("steers jobs at its commit, and not before", async () => {
    const { id } = await client.enqueue(job, { n: 1 });
    const { id: other } = await client.enqueue(job, { n: 2 }, { delay: "1h" });
    await inTransaction(async (inside) => {
      expect(await inside.cancel(id)).toBe("cancelled");
      expect(await inside.retry(other)).toBe("ready");
      expect(await client.job(id)).toMatchObject({ state: "ready" });
      expect(await client.job(other)).toMatchObject({ state: "scheduled" });
    });
    expect(await client.job(id)).toMatchObject({ state: "cancelled", endedAt: expect.any(Date) });
    expect(await client.job(other)).toMatchObject({ state: "ready" });
  });

  test("puts dead jobs back, all in the one transaction", async () => {
    const ids = await client.enqueueMany(
      job,
      Array.from({ length: 7 }, (_, n) => ({ input: { n } })),
    );
    for (const { id } of ids) await client.cancel(id);
    const boom = new Error("boom");
    const redrive = (inside: TransactionClient) => inside.dead.redrive({ state: "cancelled" }, { batch: 3 });
    const undone = inTransaction(async (inside) => {
      expect(await redrive(inside)).toMatchObject({ redriven: 7, complete: true });
      throw boom;
    });
    await expect(undone).rejects.toBe(boom);
    expect(await client.jobs.list({ state: "cancelled" })).toHaveLength(7);
    expect(await inTransaction(redrive)).toMatchObject({ redriven: 7, complete: true });
    expect(await client.jobs.list({ state: "cancelled" })).toHaveLength(0);
    await expect(
      inTransaction((inside) => inside.dead.redrive({}, { rate: { limit: 1, per: "1s" } })),
    ).rejects.toMatchObject({ code: "FAIRMILL_CONFIG", setting: "rate" });
  });

  test("cancels a batch and runs a flow again", async () => {
    const { id } = await client.batches.create({}, (batch) => batch.add(job, { n: 1 }));
    const { id: started } = await client.flows.start(flow, {});
    expect(await inTransaction((inside) => inside.batches.cancel(id))).toBe("cancelled");
    expect(await inTransaction((inside) => inside.flows.cancel(started))).toBe("cancelled");
    expect(await inTransaction((inside) => inside.flows.retry(started))).toEqual({ answer: "started", nodes: 1 });
    expect(await client.flows.get(started)).toMatchObject({ state: "pending", nodes: [{ state: "pending" }] });
  });

  test("a batch whose members another session holds is not waited for without end", async () => {
    const { id } = await client.batches.create({}, (batch) => batch.add(job, { n: 1 }));
    const [member] = await client.jobs.list({ batch: id });
    const other = await db.pool.connect();
    await other.query("begin");
    await other.query("select from fairmill.job where id = $1 for update", [member!.id]);
    const cancelled = inTransaction((inside) => inside.batches.cancel(id));
    await expect(cancelled).rejects.toMatchObject({ code: "FAIRMILL_LOCK_TIMEOUT" });
    await other.query("rollback");
    other.release();
    expect(await client.batches.get(id)).toMatchObject({ state: "pending", cancelRequestedAt: null });
  });

  test("fills an open batch, which is closed with it", async () => {
    const id = await inTransaction(async (inside) => {
      const batch = await inside.batches.open({ stability: false });
      await batch.add(job, { n: 1 });
      await batch.extend("1m");
      const hold = await inside.batches.hold(batch.id);
      expect(await hold.release()).toBe("pending");
      await batch.close();
      return batch.id;
    });
    expect(await client.batches.get(id)).toMatchObject({ live: 1, state: "pending" });
    expect(await db.query("select from fairmill.batch_hold")).toEqual([]);
  });

  test("changes schedules and limits", async () => {
    await inTransaction(async (inside) => {
      expect(await inside.schedules.set("nightly", cron)).toMatchObject({ outcome: "created" });
      expect(await inside.schedules.set("nightly", cron)).toMatchObject({ outcome: "same" });
      await inside.schedules.pause("nightly");
      await inside.kinds.set("job", { maxRunning: 3 });
      await inside.queues.set("default", { rate: { limit: 5, per: "1s" } });
    });
    expect(await client.schedules.get("nightly")).toMatchObject({ nextRun: null, pausedAt: expect.any(Date) });
    expect(await client.kinds.get("job")).toMatchObject({ maxRunning: 3 });
    await inTransaction((inside) => inside.schedules.resume("nightly"));
    expect(await client.schedules.get("nightly")).toMatchObject({ pausedAt: null, nextRun: expect.any(Date) });
    expect(await inTransaction((inside) => inside.schedules.remove("nightly"))).toBe(true);
    expect(await client.schedules.get("nightly")).toBeUndefined();
  });

  test("the job of a schedule that is run by hand waits for upkeep where its key has slots, as any other of a transaction", async () => {
    await client.schedules.set("nightly", { ...cron, job: keyed });
    const { id: own } = await client.schedules.run("nightly");
    expect(await client.job(own)).toMatchObject({ state: "ready" });
    await client.cancel(own);
    const { id } = await inTransaction((inside) => inside.schedules.run("nightly"));
    expect((await client.job(id))!.state).not.toBe("ready");
    await waitUntil("upkeep has given it the slot", async () => {
      await db.query("select fairmill.tick_upkeep_v1()");
      return (await client.job(id))!.state === "ready";
    });
  });

  test("stores a stream, page by page, and none of it when it is rolled back", async () => {
    async function* items() {
      for (let n = 0; n < 2_500; n++) yield { input: { n } };
    }
    const plain = defineJob<{ n: number }>({ kind: "plain" });
    const boom = new Error("boom");
    const undone = inTransaction(async (inside) => {
      expect(await inside.enqueueMany(plain, items())).toEqual({ count: 2_500, created: 2_500 });
      throw boom;
    });
    await expect(undone).rejects.toBe(boom);
    expect(await client.jobs.list()).toEqual([]);
  });

  test("has no calls that wait", async () => {
    await inTransaction(async (inside) => {
      expect(Object.keys(inside)).not.toContain("result");
      // @ts-expect-error: not there by its type.
      await expect(inside.batches.wait("1")).rejects.toMatchObject({ code: "FAIRMILL_CONFIG", setting: "tx" });
    });
  });

  test("a transaction that sees no more than its beginning is refused where that would break a promise", async () => {
    const refused = inTransaction(
      (inside) => inside.tenants.set("acme", { maxRunning: 1 }),
      "begin isolation level repeatable read",
    );
    await expect(refused).rejects.toMatchObject({ code: "FAIRMILL_ISOLATION" });
  });
});
