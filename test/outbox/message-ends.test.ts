// What is enqueued when a message has its end: one job for each end, whichever session writes it.
import {
  type Client,
  createClient,
  createWorker,
  defineChannel,
  defineJob,
  fixed,
  handle,
  type MessageEnd,
  NotDeliveredError,
  silentLogger,
} from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endLease, recover, settle } from "../support/sql/calls.js";
import { waitUntil } from "../support/wait.js";
import { begin, claimDeliveries, publishOne } from "./outbox-calls.js";

const db = useDatabase();

const ended = defineJob<MessageEnd>({ kind: "message.ended", queue: "ends", priority: 5, retry: { attempts: 7 } });

const mailWith = (send: () => unknown) =>
  defineChannel<{ text: string }>({
    name: "mail",
    receiver: "neither",
    retry: { attempts: 1, backoff: fixed(0) },
    onEnd: ended,
    send,
  });

interface EndRow {
  readonly tenant: string;
  readonly payload: MessageEnd;
}

/** The jobs that ends of messages enqueued, in order. */
const ends = () =>
  db.query<EndRow>(
    `select tenant, payload, id from fairmill.job where kind = 'message.ended'
     union all select tenant, payload, id from fairmill.job_history where kind = 'message.ended' order by id`,
  );
const outcomes = async () => (await ends()).map(({ payload }) => payload.outcome);

const defined = () =>
  db.query("select fairmill.define_channels_v1($1)", [JSON.stringify({ mail: { kind: "message.ended" } })]);

const endOf = (client: Client, id: string) =>
  waitUntil(`message ${id} has its end`, async () => {
    const message = await client.outbox.get(id);
    return message?.endedAt == null ? undefined : message;
  });

test.each([
  ["delivered", "sent", (): unknown => undefined],
  [
    "failed",
    "failed",
    () => {
      throw new NotDeliveredError("no such chat", { retryable: false });
    },
  ],
  [
    "unknown",
    "unknown",
    () => {
      throw new Error("the line broke");
    },
  ],
] as const)("a message that ends as %s enqueues one job that says so", async (outcome, status, send) => {
  const channel = mailWith(send);
  await using client = createClient({ databaseUrl: db.url });
  const seen: MessageEnd[] = [];
  await using _ = await createWorker({
    databaseUrl: db.url,
    channels: [channel],
    handlers: [handle(ended, (ctx) => void seen.push(ctx.input))],
    logger: silentLogger,
  }).start();
  const { id } = await client.publish(
    "mail",
    { text: "hi" },
    { idempotencyKey: "a", tenant: "acme", reference: "order-1" },
  );
  await waitUntil("the job has run", () => seen[0]);
  expect(seen).toEqual([
    {
      ...{ outcome, status, messageId: id, channel: "mail", tenant: "acme" },
      ...{ idempotencyKey: "a", reference: "order-1" },
    },
  ]);
  expect((await ends()).map(({ tenant }) => tenant)).toEqual(["acme"]);
});

test("of a message of a handler, the end names the job that published it", async () => {
  const channel = mailWith(() => undefined);
  const order = defineJob({ kind: "order" });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await createWorker({
    databaseUrl: db.url,
    channels: [channel],
    handlers: [handle(order, (ctx) => ctx.publish(channel, { text: "hi" }))],
    logger: silentLogger,
  }).start();
  const { id } = await client.enqueue(order, {});
  await waitUntil("the end is told", async () => (await ends())[0]);
  expect((await ends())[0]!.payload).toMatchObject({ outcome: "delivered", reference: id });
});

test("a worker that dies between its send and its mark leads to one job, and each word of an operator to one more", async () => {
  await defined();
  await using client = createClient({ databaseUrl: db.url });
  const id = await publishOne(db, { max_attempts: 1 });
  const jobs = await claimDeliveries(db, "w1");
  expect(await begin(db, "w1", jobs)).toMatchObject([{ answer: "send" }]);
  expect(await outcomes()).toEqual([]);
  await endLease(db, "w1");
  await recover(db);
  // Its one attempt may have arrived: the next worker finds it uncertain, and a channel that cannot ask gives up.
  const again = await claimDeliveries(db, "w2");
  expect(await begin(db, "w2", again)).toMatchObject([{ answer: "uncertain" }]);
  const verdict = async () => settle(db, "w2", again, "dead", [{ delivery: { outcome: "uncertain" } }]);
  await verdict();
  // The answer was lost on its way, and the worker repeats its settle.
  await verdict();
  expect(await outcomes()).toEqual(["unknown"]);
  const word = () => client.outbox.resolve(id, "failed", { by: "ann" });
  expect((await Promise.all([word(), word(), word()])).toSorted()).toEqual(["known", "known", "resolved"]);
  expect(await word()).toBe("known");
  expect(await outcomes()).toEqual(["unknown", "failed"]);
  // It turns out that it arrived after all.
  expect(await client.outbox.resolve(id, "sent")).toBe("resolved");
  expect(await client.outbox.resolve(id, "sent")).toBe("known");
  expect(await outcomes()).toEqual(["unknown", "failed", "delivered"]);
});

test("what rolls back tells of no end, and a message whose delivery was cancelled has failed, once", async () => {
  await defined();
  await using client = createClient({ databaseUrl: db.url });
  const id = await publishOne(db);
  const [job] = await db.query<{ id: string }>("select job_id::text as id from fairmill.outbox");
  await db.query("begin");
  await db.query("select fairmill.cancel_v1($1)", [job!.id]);
  await db.query("rollback");
  expect(await outcomes()).toEqual([]);
  await client.cancel(job!.id);
  await endOf(client, id);
  expect(await ends()).toMatchObject([{ payload: { outcome: "failed", status: "skipped", reference: null } }]);
  // Failed it has already.
  expect(await client.outbox.resolve(id, "failed")).toBe("resolved");
  expect(await outcomes()).toEqual(["failed"]);
});

test("a message that is sent again tells its new end, and a channel that names no kind any more tells nothing", async () => {
  await defined();
  await using client = createClient({ databaseUrl: db.url });
  const id = await publishOne(db, { max_attempts: 1 });
  const deliver = async (worker: string, verdict: "dead" | "done") => {
    const jobs = await claimDeliveries(db, worker);
    await begin(db, worker, jobs);
    await settle(db, worker, jobs, verdict, [{ delivery: { outcome: verdict === "done" ? "sent" : "refused" } }]);
  };
  await deliver("w1", "dead");
  expect(await client.outbox.resolve(id, "resend")).toBe("resolved");
  expect(await outcomes()).toEqual(["failed"]);
  await deliver("w2", "done");
  expect(await outcomes()).toEqual(["failed", "delivered"]);

  await db.query(`select fairmill.define_channels_v1('{"mail": null}')`);
  await publishOne(db, { idempotency_key: "b" });
  await deliver("w3", "done");
  expect(await outcomes()).toEqual(["failed", "delivered"]);
});

test("a kind that would have to wait for something is refused as the end of messages", () => {
  const priced = defineJob<MessageEnd>({ kind: "priced", credits: { account: ({ tenant }) => tenant } });
  expect(() => defineChannel({ name: "mail", receiver: "neither", send: () => {}, onEnd: priced })).toThrow(
    /neither reserve credits/,
  );
  expect(() =>
    defineChannel({ name: "mail", receiver: "neither", send: () => {}, onEnd: "message.ended" as never }),
  ).toThrow(/onEnd must be made by defineJob/);
});
