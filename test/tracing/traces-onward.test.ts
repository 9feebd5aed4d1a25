// F9: a trace goes on inside a job and out of it: a step is a child of its run, a message carries the trace to its receiver. Without one nothing is stored or sent.
import { createClient, defineJob, fixed, handle } from "fairmill";
import { tracing } from "fairmill/tracing";
import { webhookChannel } from "fairmill/webhooks";
import { expect, test } from "vitest";
import { leadsTo, SECRET, startReceiver } from "../outbox/webhook/receiver.js";
import { useDatabase } from "../support/database.js";
import { startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";
import { recordingApi } from "./recording-api.js";

const db = useDatabase();
const GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const hooks = (port: number, headers?: Record<string, string>) =>
  webhookChannel<{ n: number }>({
    ...{ name: "hooks", url: `http://a.example.com:${port}/in`, secret: SECRET, allowPrivate: true },
    ...{ resolve: leadsTo("127.0.0.1"), retry: { attempts: 2, backoff: fixed(0) } },
    ...(headers && { headers }),
  });

test("a step is a child of the run that does it, and a run that only takes its result has no span for it", async () => {
  const { api, spans } = recordingApi();
  const use = [tracing(api)];
  const job = defineJob({ kind: "stepped", retry: { attempts: 2, backoff: () => 0 } });
  await using client = createClient({ databaseUrl: db.url, use });
  const run = handle(job, async (ctx) => {
    await ctx.step("pay", () => "paid");
    if (ctx.attempt === 1) throw new Error("once more");
    await ctx.step("ship", async () => "shipped");
  });
  const worker = await startWorker(db.url, [run], { use });
  await client.enqueue(job, {});
  await waitUntil(
    "both runs",
    () => spans.filter(({ name, ends }) => name === "run stepped" && ends === 1).length === 2,
  );
  await worker.stop();
  const runs = spans.filter(({ name }) => name === "run stepped").map(({ context }) => context.spanId);
  const steps = spans.filter(({ name }) => name.startsWith("step "));
  expect(steps.map(({ name, parent, ends }) => [name, parent, ends])).toEqual([
    ["step pay", runs[0], 1],
    ["step ship", runs[1], 1],
  ]);
});

test("what a handler publishes goes on with the trace of its job, up to the header that the receiver gets", async () => {
  const receiver = await startReceiver((response) => response.writeHead(200).end());
  const channel = hooks(receiver.port);
  const job = defineJob({ kind: "publishing" });
  await using client = createClient({ databaseUrl: db.url });
  const run = handle(job, (ctx) => ctx.publish(channel, { n: 1 }));
  const worker = await startWorker(db.url, [run], { channels: [channel] });
  await client.enqueue(job, {}, { trace: GIVEN });
  await waitUntil("the message", () => receiver.received.length === 1);
  expect(receiver.received[0]!.headers["traceparent"]).toBe(GIVEN);
  await client.enqueue(job, {});
  await waitUntil("the message without a trace", () => receiver.received.length === 2);
  expect(receiver.received[1]!.headers).not.toHaveProperty("traceparent");
  await worker.stop();
});

test("a caller names the trace of a message, in an order too; a header of the application is not written over", async () => {
  const receiver = await startReceiver((response) => response.writeHead(200).end());
  const own = GIVEN.replace("00f067aa", "11f067aa");
  await using client = createClient({ databaseUrl: db.url });
  await client.publish("hooks", { n: 1 }, { idempotencyKey: "a", trace: GIVEN, orderKey: "o" });
  let worker = await startWorker(db.url, [], { channels: [hooks(receiver.port)] });
  await waitUntil("the first", () => receiver.received.length === 1);
  await worker.stop();
  await client.publish("hooks", { n: 2 }, { idempotencyKey: "b", trace: GIVEN });
  worker = await startWorker(db.url, [], { channels: [hooks(receiver.port, { Traceparent: own })] });
  await waitUntil("the second", () => receiver.received.length === 2);
  await worker.stop();
  expect(receiver.received.map(({ headers }) => headers["traceparent"])).toEqual([GIVEN, own]);
  const bad = client.publish("hooks", { n: 3 }, { idempotencyKey: "c", trace: "no trace" });
  await expect(bad).rejects.toMatchObject({ code: "FAIRMILL_CONFIG", setting: "trace" });
});
