// Webhooks over real connections on the loopback. Only the look-up of names is played.
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../../src/base/errors.js";
import { sendWebhook, type WebhookMessage } from "../../../src/outbox/webhook/send.js";
import { verifyWebhook } from "../../../src/outbox/webhook/signature.js";
import {
  type WebhookError,
  WebhookRefusedError,
  WebhookUnreachableError,
} from "../../../src/outbox/webhook/webhook-errors.js";
import {
  certificate,
  leadsTo,
  messageTo,
  SECRET,
  startReceiver,
  startSecureReceiver,
  startSocketReceiver,
} from "./receiver.js";

/** What went wrong. */
async function failed(message: WebhookMessage): Promise<WebhookError> {
  return sendWebhook(message).then(
    (answer) => Promise.reject(new Error(`It was taken: ${JSON.stringify(answer)}`)),
    (error: WebhookError) => error,
  );
}

describe("what arrives", () => {
  test("S11: a signed message, under the host's name, that the receiver can verify", async () => {
    const receiver = await startReceiver((response) => response.end("thanks"));
    expect(await sendWebhook(messageTo(receiver, { headers: { "X-Tenant": "acme" } }))).toEqual({
      status: 200,
      text: "thanks",
      isCut: false,
    });
    const [{ method, url, headers, body }] = receiver.received as [(typeof receiver.received)[0]];
    expect({ method, url, body }).toEqual({ method: "POST", url: "/in?token=t0ken", body: '{"hello":"world"}' });
    expect(headers).toMatchObject({
      host: `hooks.example.com:${receiver.port}`,
      "content-type": "application/json",
      "content-length": "17",
      "idempotency-key": "order-17",
      "x-tenant": "acme",
      "user-agent": expect.stringMatching(/^fairmill\//),
    });
    expect(verifyWebhook({ headers, body, secrets: SECRET }).idempotencyKey).toBe("order-17");
  });

  test.each([200, 201, 202, 204, 299])("%i: taken", async (status) => {
    const receiver = await startReceiver((response) => response.writeHead(status).end());
    expect(await sendWebhook(messageTo(receiver))).toMatchObject({ status, text: "" });
  });

  test("an interim answer is none", async () => {
    const receiver = await startReceiver((response) => {
      response.writeProcessing();
      response.writeHead(202).end();
    });
    expect(await sendWebhook(messageTo(receiver))).toMatchObject({ status: 202 });
  });
});

describe("S11: where it may go", () => {
  test("a private address is refused before a connection is made, by name or by number", async () => {
    const receiver = await startReceiver((response) => response.end());
    for (const url of ["http://hooks.example.com", "http://127.0.0.1", "http://2130706433", "http://localhost"]) {
      const resolve = url.includes("localhost") ? {} : { resolve: leadsTo("127.0.0.1") };
      const { resolve: _, ...message } = messageTo(receiver, { url: `${url}:${receiver.port}/` });
      const error = await failed({ ...message, ...resolve, allowPrivate: false, allowHttp: true });
      expect(error).toMatchObject({
        code: "FAIRMILL_WEBHOOK_DESTINATION",
        delivered: false,
        retryable: false,
        message: expect.stringContaining("loopback"),
      });
    }
    expect(receiver.connections()).toBe(0);
  });

  test("a name is asked once: a second answer, private by then, is never asked for", async () => {
    const receiver = await startReceiver((response) => response.end());
    const resolve = leadsTo("127.0.0.1");
    // The system itself does not know this name, so the connection went to what was checked.
    await sendWebhook(messageTo(receiver, { url: `http://rebind.invalid:${receiver.port}/`, resolve }));
    expect(resolve.asked).toEqual(["rebind.invalid"]);
    expect(receiver.received[0]!.headers.host).toBe(`rebind.invalid:${receiver.port}`);
  });

  test("the second address is tried when no server listens at the first", async () => {
    const receiver = await startReceiver((response) => response.end());
    const resolve = leadsTo("127.0.0.2", "127.0.0.1");
    expect(await sendWebhook(messageTo(receiver, { resolve }))).toMatchObject({ status: 200 });
  });

  test.each([301, 302, 303, 307, 308])("%i is not followed, and the receiver has not taken it", async (status) => {
    const elsewhere = await startReceiver((response) => response.end());
    const receiver = await startReceiver((response) =>
      response.writeHead(status, { location: `http://127.0.0.1:${elsewhere.port}/` }).end(),
    );
    const error = await failed(messageTo(receiver));
    expect(error).toBeInstanceOf(WebhookRefusedError);
    expect(error).toMatchObject({ delivered: false, retryable: false, status });
    expect(elsewhere.connections()).toBe(0);
  });
});

describe("TLS", () => {
  const secure = (receiver: { port: number }, more: Partial<WebhookMessage> = {}) =>
    messageTo(receiver, { url: `https://hooks.example.com:${receiver.port}/`, ca: certificate, ...more });

  test("the certificate is asked of the name, although the connection goes to a number", async () => {
    const receiver = await startSecureReceiver((response) => response.end("safe"));
    expect(await sendWebhook(secure(receiver))).toMatchObject({ text: "safe" });
    expect(receiver.received[0]!.servername).toBe("hooks.example.com");
    const dotted = { url: `https://hooks.example.com.:${receiver.port}/` };
    expect(await sendWebhook(secure(receiver, dotted))).toMatchObject({ text: "safe" });
  });

  test("a certificate of another name, or of no authority that is trusted: nothing was sent", async () => {
    const receiver = await startSecureReceiver((response) => response.end());
    const { ca: _, ...untrusted } = secure(receiver);
    for (const message of [secure(receiver, { url: `https://other.example.com:${receiver.port}/` }), untrusted]) {
      const error = await failed(message);
      expect(error).toBeInstanceOf(WebhookUnreachableError);
      expect(error).toMatchObject({ delivered: false, retryable: true });
    }
    expect(receiver.received).toEqual([]);
  });

  test("NODE_TLS_REJECT_UNAUTHORIZED changes nothing", async () => {
    const receiver = await startSecureReceiver((response) => response.end());
    const { ca: _, ...untrusted } = secure(receiver);
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    try {
      expect(await failed(untrusted)).toBeInstanceOf(WebhookUnreachableError);
    } finally {
      delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    }
    expect(receiver.received).toEqual([]);
  });

  test("a receiver that never ends the handshake: nothing was sent", async () => {
    const receiver = await startSocketReceiver(() => {});
    expect(await failed(secure(receiver, { limits: { connect: 50 } }))).toMatchObject({
      code: "FAIRMILL_WEBHOOK_UNREACHABLE",
      message: expect.stringContaining("no connection within 50 ms"),
    });
  });
});

describe("being told to stop", () => {
  test("before anything: nothing was sent, and the reason is named", async () => {
    const receiver = await startReceiver((response) => response.end());
    const signal = AbortSignal.abort(new Error("shutdown"));
    const error = await failed(messageTo(receiver, { signal }));
    expect(error).toMatchObject({ delivered: false, cause: new Error("shutdown") });
    expect(receiver.received).toEqual([]);
  });

  test("while the receiver thinks: in doubt", async () => {
    const stop = new AbortController();
    const receiver = await startReceiver(() => stop.abort(new Error("shutdown")));
    expect(await failed(messageTo(receiver, { signal: stop.signal }))).toMatchObject({
      delivered: "unknown",
      cause: new Error("shutdown"),
    });
  });
});

describe("what is refused before it is tried", () => {
  test.each(["Host", "content-length", "Transfer-Encoding", "webhook-id", "Webhook-Signature", "idempotency-key"])(
    "the header %s",
    async (name) => {
      await expect(sendWebhook(messageTo({ port: 8080 }, { headers: { [name]: "x" } }))).rejects.toThrow(ConfigError);
    },
  );

  test.each<[string, Partial<WebhookMessage>]>([
    ["a header that breaks the line", { headers: { "x-a": "s3cret\r\nx-b: 1" } }],
    ["a name that is none", { headers: { "x a": "s3cret" } }],
    ["an unknown setting", { nope: 1 } as Partial<WebhookMessage>],
    ["an unknown limit", { limits: { nope: 1 } as WebhookMessage["limits"] & object }],
    ["no time", { limits: { timeout: 0 } }],
    ["no key", { idempotencyKey: "" }],
    ["a key that is no text", { idempotencyKey: "\ud800" }],
    ["a short secret", { secret: "whsec_s3cret==" }],
    ["a body that is no text", { body: {} as string }],
  ])("%s", async (_, wrong) => {
    const error = await failed(messageTo({ port: 8080 }, wrong));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.message).not.toContain("s3cret");
  });

  test("no error shows the path, the query or the secret", async () => {
    const receiver = await startReceiver((response) => response.writeHead(500).end());
    const error = await failed(messageTo(receiver));
    expect(JSON.stringify(error) + error.stack + error.message).not.toMatch(/t0ken|whsec/);
  });
});
