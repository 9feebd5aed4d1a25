// Channels of webhooks: from publish to a real receiver, through a real worker and a real database.
import { ConfigError, createClient, createWorker, fixed, silentLogger } from "fairmill";
import { verifyWebhook, type WebhookChannelOptions, WebhookDestinationError, webhookChannel } from "fairmill/webhooks";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { waitUntil } from "../../support/wait.js";
import { leadsTo, SECRET, startReceiver } from "./receiver.js";

const db = useDatabase();

type Message = { to: string };
type Options = Partial<WebhookChannelOptions<undefined, Message, Message>>;

const hooks = (port: number, options: Options = {}) =>
  webhookChannel<Message>({
    name: "hooks",
    url: ({ to }) => `http://${to}.example.com:${port}/in`,
    secret: SECRET,
    allowPrivate: true,
    resolve: leadsTo("127.0.0.1"),
    retry: { attempts: 3, backoff: fixed(0) },
    ...(options as object),
  });

/** Publishes one message and delivers it until its end. */
async function delivered(channel: ReturnType<typeof hooks>) {
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await createWorker({ databaseUrl: db.url, channels: [channel], logger: silentLogger }).start();
  const { id } = await client.publish(channel, { to: "ann" }, { idempotencyKey: "order.17", tenant: "acme" });
  return await waitUntil(`message ${id} has its end`, async () => {
    const message = await client.outbox.get(id);
    return message && message.endedAt !== null ? message : undefined;
  });
}

describe("S11: a channel of webhooks", () => {
  test("sends the message as JSON, signed, under its key; the answer is kept", async () => {
    const receiver = await startReceiver((response) => response.writeHead(202).end("queued"));
    expect(await delivered(hooks(receiver.port))).toMatchObject({
      status: "sent",
      answer: { status: 202, text: "queued", isCut: false },
    });
    const [{ headers, body }] = receiver.received as [(typeof receiver.received)[0]];
    expect(verifyWebhook({ headers, body, secrets: SECRET }).idempotencyKey).toBe("order.17");
    expect({ host: headers.host, body }).toEqual({ host: `ann.example.com:${receiver.port}`, body: '{"to":"ann"}' });
  });

  test("I4: in doubt it is sent again, the same key and the same body", async () => {
    const receiver = await startReceiver((response) =>
      response.writeHead(receiver.received.length < 3 ? 500 : 200).end(),
    );
    expect(await delivered(hooks(receiver.port))).toMatchObject({
      status: "sent",
      attempts: [{ outcome: "uncertain" }, { outcome: "uncertain" }, { outcome: "sent" }],
    });
    const all = receiver.received.map(({ headers, body }) => [headers["webhook-id"], body]);
    expect(new Set(all.map((one) => JSON.stringify(one))).size).toBe(1);
  });

  test("a receiver that knows no keys: what may have arrived is held", async () => {
    const receiver = await startReceiver((response) => response.writeHead(500).end());
    const message = await delivered(hooks(receiver.port, { receiver: "neither" }));
    expect(message).toMatchObject({ status: "unknown", attempts: [{ outcome: "uncertain" }] });
    expect(receiver.received).toHaveLength(1);
  });

  test("what the receiver refuses has failed at once", async () => {
    const receiver = await startReceiver((response) => response.writeHead(422).end("no such order"));
    expect(await delivered(hooks(receiver.port, { receiver: "neither" }))).toMatchObject({
      status: "failed",
      attempts: [{ outcome: "refused", error: { code: "FAIRMILL_WEBHOOK_REFUSED" } }],
    });
  });

  test("a private address has failed at once, and no server was asked", async () => {
    const receiver = await startReceiver((response) => response.end());
    const channel = hooks(receiver.port, { receiver: "neither", allowPrivate: false, allowHttp: true });
    expect(await delivered(channel)).toMatchObject({
      status: "failed",
      attempts: [{ outcome: "refused", error: { code: "FAIRMILL_WEBHOOK_DESTINATION" } }],
    });
    expect(receiver.connections()).toBe(0);
  });

  test.each<[string, Options, number]>([
    ["a function of yours that throws is tried again", { url: () => Promise.reject(new Error("no such customer")) }, 3],
    ["a secret that is none has failed at once", { secret: () => "hunter2" }, 1],
    ["a header that is none has failed at once", { headers: () => ({ host: "x" }) }, 1],
  ])("nothing was sent: %s", async (_, options, tries) => {
    const message = await delivered(hooks(8080, { receiver: "neither", ...options }));
    expect(message.status).toBe("failed");
    expect(message.attempts).toHaveLength(tries);
    for (const attempt of message.attempts) expect(attempt.outcome).toBe("refused");
    expect(JSON.stringify(message)).not.toContain("hunter2");
  });

  test("secret, headers and key may depend on the message", async () => {
    const receiver = await startReceiver((response) => response.end());
    const own = Buffer.alloc(24, "of acme");
    const channel = hooks(receiver.port, {
      secret: async (_, { tenant }) => (tenant === "acme" ? own : SECRET),
      headers: ({ to }) => ({ "x-to": to }),
      idempotencyKey: (_, { tenant, idempotencyKey }) => `${tenant}/${idempotencyKey}`,
      body: ({ to }) => `to=${to}`,
    });
    expect(await delivered(channel)).toMatchObject({ status: "sent" });
    const [{ headers, body }] = receiver.received as [(typeof receiver.received)[0]];
    expect(verifyWebhook({ headers, body, secrets: own }).idempotencyKey).toBe("acme/order.17");
    expect([headers["x-to"], body]).toEqual(["ann", "to=ann"]);
  });
});

describe("what can be checked at once is", () => {
  test.each<[string, Options]>([
    ["a secret", { secret: "hunter2" }],
    ["limits", { webhookLimits: { nope: 1 } as object }],
    ["unknown settings", { nope: 1 } as Options],
  ])("%s", (_, options) => {
    expect(() => hooks(8080, options)).toThrow(ConfigError);
  });

  test("a misspelt setting is named", () => {
    expect(() => hooks(8080, { secrets: SECRET } as Options)).toThrow(
      /webhookChannel\("hooks"\): .*Did you mean "secret"/,
    );
  });

  test("an address", () => {
    expect(() => hooks(8080, { url: "https://10.0.0.1/", allowPrivate: false })).toThrow(WebhookDestinationError);
  });
});
