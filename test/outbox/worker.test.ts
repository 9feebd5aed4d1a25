// Channels in real workers: what is sent, what is tried again, and what becomes of a message that may have arrived.
import {
  createClient,
  createCodec,
  defineChannel,
  fixed,
  type Message,
  NotDeliveredError,
  silentLogger,
} from "fairmill";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { useDatabase } from "../support/database.js";
import { openSession } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";
import { deliveringOn, endOf, mail, receiver } from "./delivering.js";

const db = useDatabase();
const { startDelivering, delivered } = deliveringOn(db);

test("a delivery job without a message is let in by no door; one that is there waits longer each time, unspent, and says why", async () => {
  const { send, calls } = receiver();
  const channel = mail({ receiver: "takes-key", send });
  await using client = createClient({ databaseUrl: db.url });
  await expect(client.enqueue(channel.definition, { text: "hi" })).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
  await expect(client.enqueueMany(channel.definition, [{ input: { text: "hi" } }])).rejects.toMatchObject({
    code: "FAIRMILL_CONFIG",
  });
  // As an earlier version let it in.
  const [row] = await db.query<{ id: string }>(
    "insert into fairmill.job (kind, queue, tenant, state, payload) values ('fairmill.deliver.mail', 'outbox', 't', 'ready', '{}') returning id",
  );
  await using worker = await startDelivering(channel);
  let claims = 0;
  worker.events.on("claimed", () => claims++);
  const times = await waitUntil("it was given back so often that it waits", async () => {
    const [job] = await db.query<{ times: number }>(
      "select (released -> 'times')::integer as times from fairmill.job where state = 'scheduled'",
    );
    return job?.times;
  });
  expect(times).toBe(4);
  expect(claims).toBeLessThanOrEqual(times + 1);
  expect(await client.job(row!.id)).toMatchObject({ attempt: 0, failures: [] });
  const why = await client.why(row!.id);
  expect(why!.reason).toMatch(
    /^Workers took it and gave it back \d+ times in a row, the last time at \S+ \(The lease on this job was lost/,
  );
  expect(calls).toEqual([]);
});

describe("a message", () => {
  test("C15: is sent with its key, and the receiver's answer is kept", async () => {
    const { calls, send } = receiver(() => ({ receipt: 7 }));
    const message = await delivered(mail({ receiver: "neither", send }));
    expect(message).toMatchObject({ status: "sent", answer: { receipt: 7 }, attempts: [{ outcome: "sent" }] });
    expect(message.job).toMatchObject({
      state: "done",
      tenant: "acme",
      kind: "fairmill.deliver.mail",
      queue: "outbox",
    });
    expect(calls).toEqual([{ text: "hi", key: "a", attempt: 1 }]);
  });

  test("C15: that was certainly not delivered is sent again, whatever the receiver, with the same key", async () => {
    const { calls, send } = receiver((_, n) => {
      if (n < 3) throw new NotDeliveredError("busy");
    });
    const message = await delivered(mail({ receiver: "neither", send }));
    expect(message).toMatchObject({ status: "sent" });
    expect(message.attempts.map(({ outcome }) => outcome)).toEqual(["refused", "refused", "sent"]);
    expect(calls.map(({ key, attempt }) => [key, attempt])).toEqual([
      ["a", 1],
      ["a", 2],
      ["a", 3],
    ]);
  });

  test("that is refused for good, or too often, has failed", async () => {
    const refusing = (retryable: boolean) => () => {
      throw new NotDeliveredError("no such address", { retryable });
    };
    const once = receiver(refusing(false));
    const first = await delivered(mail({ receiver: "takes-key", send: once.send }));
    expect(first).toMatchObject({
      status: "failed",
      attempts: [{ outcome: "refused", error: { code: "FAIRMILL_NOT_DELIVERED" } }],
    });
    expect(first.job).toMatchObject({ state: "dead" });
    await db.query("delete from fairmill.outbox");
    const often = receiver(refusing(true));
    const retry = { attempts: 2, backoff: fixed(0) };
    expect(await delivered(mail({ receiver: "takes-key", send: often.send, retry }))).toMatchObject({
      status: "failed",
    });
    expect(often.calls).toHaveLength(2);
  });

  test("is validated when it is published and before it is sent", async () => {
    const { calls, send } = receiver();
    const channel = defineChannel({ name: "mail", input: z.object({ text: z.string() }), receiver: "neither", send });
    await using client = createClient({ databaseUrl: db.url });
    await expect(client.publish(channel, {} as { text: string }, { idempotencyKey: "a" })).rejects.toMatchObject({
      code: "FAIRMILL_INPUT_INVALID",
    });
    const { id } = await client.publish("mail", {}, { idempotencyKey: "a" });
    await using _ = await startDelivering(channel);
    expect(await endOf(client, id)).toMatchObject({ status: "failed", attempts: [{ outcome: "refused" }] });
    expect(calls).toEqual([]);
  });

  test("is sealed in the outbox, and so is what the receiver said", async () => {
    const codec = createCodec({ keys: { k1: Buffer.alloc(32, 1).toString("base64") }, current: "k1" });
    const { calls, send } = receiver(() => ({ receipt: "secret" }));
    const channel = mail({ receiver: "neither", send });
    await using client = createClient({ databaseUrl: db.url, codec });
    const { id } = await client.publish(channel, { text: "secret" }, { idempotencyKey: "a" });
    await using _ = await startDelivering(channel, { codec });
    expect(await endOf(client, id)).toMatchObject({ payload: { text: "secret" }, answer: { receipt: "secret" } });
    expect(calls).toMatchObject([{ text: "secret" }]);
    const [stored] = await db.query<{ row: string }>("select to_jsonb(o)::text as row from fairmill.outbox o");
    expect(stored!.row).not.toContain("secret");
  });

  test("published in a transaction exists when that commits, and never did when it does not", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const session = await openSession(db.url);
    const tx = { query: async (text: string, values?: unknown[]) => ({ rows: await session.query(text, values) }) };
    for (const [end, found] of [
      ["rollback", 0],
      ["commit", 1],
    ] as const) {
      await session.query("begin");
      expect(await client.in(tx).publish("mail", { text: "hi" }, { idempotencyKey: "a" })).toMatchObject({
        created: true,
      });
      await session.query(end);
      expect(await client.outbox.list()).toHaveLength(found);
    }
    expect(await client.publish("mail", { text: "hi" }, { idempotencyKey: "a" })).toMatchObject({ created: false });
    await session.close();
  });
});

test("a worker that was held up between begin and send asks again before it sends", async () => {
  const { calls, send } = receiver();
  let slowMs = 10_000;
  // Validation is what lies between the two: it takes longer than a part of the lease, once.
  const started = performance.now();
  const clock = {
    now: () => Date.now(),
    monotonic: () => performance.now() - started + (slowMs === 10_000 ? 0 : 10_000),
    random: () => 0.5,
    after: (ms: number, then: () => void) => {
      const timer = setTimeout(then, ms);
      return () => clearTimeout(timer);
    },
  };
  const input = z.object({ text: z.string() }).transform((value) => {
    slowMs = 0;
    return value;
  });
  const channel = defineChannel({ name: "mail", receiver: "neither", send, input });
  const { Deliverer } = await import("../../src/outbox/deliverer.js");
  const begins: number[] = [];
  const keeper = {
    begin: async () => {
      const askedAtMs = clock.monotonic();
      begins.push(askedAtMs);
      return {
        answer: "send",
        messageId: "1",
        idempotencyKey: "a",
        payload: { text: "hi" },
        tries: 1,
        sinceMs: 0,
        askedAtMs,
      } as const;
    },
  };
  const deliverer = new Deliverer(channel, { keeper, clock, leaseMs: 15_000 });
  const claim = { id: "1", leaseNo: 1, attempt: 1, tenant: "t", kind: "fairmill.deliver.mail" } as never;
  const run = { signal: new AbortController().signal, log: silentLogger };
  expect(await deliverer.deliver(claim, run, () => false)).toMatchObject({
    details: { delivery: { outcome: "sent" } },
  });
  expect(begins).toHaveLength(2);
  expect(calls).toHaveLength(1);
});

test("the outbox is listed page by page, by status, channel and tenant", async () => {
  await using client = createClient({ databaseUrl: db.url });
  for (let n = 0; n < 5; n++)
    await client.publish(n % 2 ? "sms" : "mail", { n }, { idempotencyKey: `k${n}`, tenant: n < 3 ? "a" : "b" });
  const first = await client.outbox.list({ limit: 3 });
  const rest = await client.outbox.list({ limit: 3, before: first.at(-1)!.id });
  const keys = (messages: readonly Message[]) => messages.map(({ idempotencyKey }) => idempotencyKey);
  expect([keys(first), keys(rest)]).toEqual([
    ["k4", "k3", "k2"],
    ["k1", "k0"],
  ]);
  expect(keys(await client.outbox.list({ channel: "sms", tenant: "b", status: "pending" }))).toEqual(["k3"]);
  expect(await client.outbox.list({ status: "sent" })).toEqual([]);
  await expect(client.outbox.list({ state: "sent" } as never)).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
});

test("messages with an order key go out one after the other, in the order in which they were published", async () => {
  const order: string[] = [];
  let atOnce = 0;
  let most = 0;
  const channel = mail({
    receiver: "neither",
    send: async ({ text }) => {
      order.push(text);
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce--;
      if (text === "2" && order.filter((one) => one === "2").length === 1) throw new NotDeliveredError("busy");
    },
  });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startDelivering(channel);
  const ids: string[] = [];
  for (let n = 0; n < 6; n++)
    ids.push((await client.publish(channel, { text: String(n) }, { idempotencyKey: `k${n}`, orderKey: "chat" })).id);
  expect(await endOf(client, ids.at(-1)!)).toMatchObject({ status: "sent" });
  expect(order).toEqual(["0", "1", "2", "2", "3", "4", "5"]);
  expect(most).toBe(1);
});
