// Channels in real workers: what is sent, what is tried again, and what becomes of a message that may have arrived.
import {
  type Channel,
  type ChannelOptions,
  type Client,
  createClient,
  createCodec,
  createWorker,
  defineChannel,
  fixed,
  type Message,
  NotDeliveredError,
  type SendContext,
  silentLogger,
  type WorkerOptions,
} from "fairmill";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { useDatabase } from "../support/database.js";
import { gate, untilAborted } from "../support/jobs.js";
import { openSession } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();

type Options = Omit<ChannelOptions<undefined, { text: string }, { text: string }>, "name" | "input">;

const mail = (options: Options) =>
  defineChannel<{ text: string }>({ name: "mail", retry: { backoff: fixed(0) }, askAfter: 200, ...options });

function startDelivering(channel: Channel<{ text: string }>, options: WorkerOptions = {}) {
  return createWorker({
    databaseUrl: db.url,
    channels: [channel],
    logger: silentLogger,
    grace: "5s",
    ...options,
  }).start();
}

const endOf = (client: Client, id: string) =>
  waitUntil(`message ${id} has its end`, async () => {
    const message = await client.outbox.get(id);
    return message && message.endedAt !== null ? message : undefined;
  });

/** Publishes one message and delivers it until its end. */
async function delivered(channel: ReturnType<typeof mail>, options: WorkerOptions = {}) {
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startDelivering(channel, options);
  const { id } = await client.publish(channel, { text: "hi" }, { idempotencyKey: "a", tenant: "acme" });
  const message = await endOf(client, id);
  return { ...message, job: (await client.job(message.jobId!))! };
}

/** A receiver that notes what it is sent. */
function receiver(answer: (context: SendContext, calls: number) => unknown = () => undefined) {
  const calls: { text: string; key: string; attempt: number }[] = [];
  const send = ({ text }: { text: string }, context: SendContext) => {
    calls.push({ text, key: context.idempotencyKey, attempt: context.attempt });
    return answer(context, calls.length);
  };
  return { calls, send };
}

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

describe("a message that may have arrived", () => {
  const lost = () => {
    throw new Error("connection lost");
  };

  test("P5: goes out again with the same key where the receiver takes keys", async () => {
    const { calls, send } = receiver((_, n) => (n < 3 ? lost() : "ok"));
    const message = await delivered(mail({ receiver: "takes-key", send }));
    expect(message.status).toBe("sent");
    expect(message.attempts.map(({ outcome }) => outcome)).toEqual(["uncertain", "uncertain", "sent"]);
    expect(new Set(calls.map(({ key }) => key))).toEqual(new Set(["a"]));
  });

  test.each([
    ["arrived", 1],
    ["not-arrived", 2],
  ] as const)("is asked for where the receiver can be asked: %s means sent %s times", async (arrival, times) => {
    const { calls, send } = receiver((_, n) => (n === 1 ? lost() : "ok"));
    const asked: string[] = [];
    const ask = ({ idempotencyKey }: SendContext) => {
      asked.push(idempotencyKey);
      return arrival;
    };
    expect(await delivered(mail({ receiver: "can-be-asked", send, ask }))).toMatchObject({ status: "sent" });
    expect(asked).toEqual(["a"]);
    expect(calls).toHaveLength(times);
  });

  test("is asked for again while the receiver does not know, and ends as unknown when its attempts are used up", async () => {
    const { calls, send } = receiver(lost);
    let asked = 0;
    const ask = () => {
      asked++;
      if (asked === 1) throw new Error("not reached");
      return "unknown" as const;
    };
    const retry = { attempts: 4, backoff: fixed(0) };
    expect(await delivered(mail({ receiver: "can-be-asked", send, ask, retry }))).toMatchObject({ status: "unknown" });
    expect([calls.length, asked]).toEqual([1, 3]);
  });

  test("is not asked for while its request may still be on its way, and that spends no attempt", async () => {
    const { send } = receiver((_, n) => (n === 1 ? lost() : "ok"));
    let askedAt = 0;
    const ask = () => {
      askedAt = Date.now();
      return "arrived" as const;
    };
    const message = await delivered(mail({ receiver: "can-be-asked", send, ask, askAfter: 400 }));
    expect(askedAt - Date.parse(message.attempts[0]!.at)).toBeGreaterThanOrEqual(400);
    expect(message.job.attempt).toBe(2);
  });

  test("C8: is held where it can be neither: unknown at once, and sent no second time by a retry", async () => {
    const { calls, send } = receiver(lost);
    const channel = mail({ receiver: "neither", send });
    const message = await delivered(channel);
    expect(message).toMatchObject({ status: "unknown", attempts: [{ outcome: "uncertain" }] });
    expect(message.job).toMatchObject({ state: "dead", error: { code: "FAIRMILL_DELIVERY_UNKNOWN" } });
    await using client = createClient({ databaseUrl: db.url });
    expect(await client.retry(message.jobId!)).toBe("order_busy");
    expect(await client.dead.redrive({})).toMatchObject({ redriven: 0 });
    expect(calls).toHaveLength(1);
    await expect(client.jobs.rerun(message.jobId!)).rejects.toMatchObject({ code: "FAIRMILL_DELIVERY_JOB" });
    // The receiver was asked, and it had not arrived.
    expect(await client.outbox.resolve(message.id, "resend", { by: "ann" })).toBe("resolved");
    const again = receiver();
    await using _ = await startDelivering(mail({ receiver: "neither", send: again.send }));
    expect(await endOf(client, message.id)).toMatchObject({ status: "sent" });
    expect(again.calls).toMatchObject([{ key: "a", attempt: 3 }]);
    await expect(client.outbox.resolve("99999999", "sent")).rejects.toMatchObject({
      code: "FAIRMILL_MESSAGE_NOT_FOUND",
    });
  });

  test("where the policy says so a receiver that is neither gets it again", async () => {
    const { calls, send } = receiver((_, n) => (n === 1 ? lost() : "ok"));
    expect(await delivered(mail({ receiver: "neither", onUncertain: "resend", send }))).toMatchObject({
      status: "sent",
    });
    expect(calls).toHaveLength(2);
  });

  test("a time limit, a cancel and a shutdown in the middle leave it uncertain, not forgotten", async () => {
    const stuck = receiver(({ signal }) => untilAborted(signal));
    const timed = await delivered(mail({ receiver: "neither", send: stuck.send, timeout: 50 }), { abortGrace: 100 });
    expect(timed).toMatchObject({ status: "unknown" });
    expect(stuck.calls).toHaveLength(1);

    await using client = createClient({ databaseUrl: db.url });
    const begun = gate<void>();
    const channel = mail({
      receiver: "neither",
      send: (_, { signal }) => {
        begun.open();
        return untilAborted(signal);
      },
    });
    const { id } = await client.publish(channel, { text: "b" }, { idempotencyKey: "b" });
    const worker = await startDelivering(channel);
    await begun.promise;
    expect(await client.cancel((await client.outbox.get(id))!.jobId!)).toBe("requested");
    expect(await endOf(client, id)).toMatchObject({ status: "unknown" });
    await worker.stop();

    const other = gate<void>();
    const slow = mail({
      receiver: "takes-key",
      send: (_, { signal }) => {
        other.open();
        return untilAborted(signal);
      },
    });
    const third = await client.publish(slow, { text: "c" }, { idempotencyKey: "c" });
    const stopping = await startDelivering(slow);
    await other.promise;
    await stopping.stop({ grace: 0 });
    const left = (await client.outbox.get(third.id))!;
    expect(left).toMatchObject({ status: "sending", attempts: [{ outcome: "uncertain" }] });
    expect(await client.job(left.jobId!)).toMatchObject({ state: "ready" });
    await client.cancel(left.jobId!);
    expect(await client.outbox.get(third.id)).toMatchObject({ status: "unknown" });
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
