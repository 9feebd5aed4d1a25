// Webhooks over real connections on the loopback. Only the look-up of names is played.
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../../../src/base/errors.js";
import { sendWebhook, type WebhookMessage } from "../../../src/outbox/webhook/send.js";
import { verifyWebhook } from "../../../src/outbox/webhook/signature.js";
import {
  type WebhookError,
  WebhookRefusedError,
  WebhookUncertainError,
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

/** A port on which no server listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
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

describe("answers", () => {
  test.each([400, 401, 403, 404, 405, 409, 413, 422, 451])(
    "%i: not taken, and no other try would help",
    async (status) => {
      const receiver = await startReceiver((response) => response.writeHead(status).end("no, and why"));
      const error = await failed(messageTo(receiver));
      expect(error).toBeInstanceOf(WebhookRefusedError);
      expect(error).toMatchObject({ delivered: false, retryable: false, status, isGone: false });
      expect(error.answer?.text).toBe("no, and why");
    },
  );

  test("410 says that the receiver is gone", async () => {
    const receiver = await startReceiver((response) => response.writeHead(410).end());
    expect(await failed(messageTo(receiver))).toMatchObject({ delivered: false, retryable: false, isGone: true });
  });

  test.each([408, 425, 429])("%i: not taken, another try may help", async (status) => {
    const receiver = await startReceiver((response) => response.writeHead(status).end());
    expect(await failed(messageTo(receiver))).toMatchObject({ delivered: false, retryable: true, status });
  });

  test.each([500, 502, 503, 504, 599])("%i: it may have been taken", async (status) => {
    const receiver = await startReceiver((response) => response.writeHead(status).end());
    const error = await failed(messageTo(receiver));
    expect(error).toBeInstanceOf(WebhookUncertainError);
    expect(error).toMatchObject({ delivered: "unknown", retryable: true, status });
  });

  test.each([
    [429, "7", 7_000],
    [503, "120", 120_000],
    [503, "99999999", 86_400_000],
    [429, new Date(Date.now() - 60_000).toUTCString(), 0],
    [429, "soon", undefined],
    [500, "7", undefined],
  ])("%i with Retry-After: %s", async (status, header, retryAfterMs) => {
    const receiver = await startReceiver((response) => response.writeHead(status, { "retry-after": header }).end());
    expect(await failed(messageTo(receiver))).toMatchObject({ retryAfterMs });
  });

  test("Retry-After may be a date", async () => {
    const receiver = await startReceiver((response) =>
      response.writeHead(429, { "retry-after": new Date(Date.now() + 3_600_000).toUTCString() }).end(),
    );
    const { retryAfterMs } = (await failed(messageTo(receiver))) as WebhookRefusedError;
    expect(retryAfterMs).toBeGreaterThan(3_500_000);
    expect(retryAfterMs).toBeLessThanOrEqual(3_600_000);
  });

  test("long answers are kept in part, as text that PostgreSQL takes", async () => {
    const receiver = await startReceiver((response) => response.end(`\0${"ä".repeat(4_000)}`));
    const { text, isCut } = await sendWebhook(messageTo(receiver));
    expect({ isCut, text }).toEqual({ isCut: true, text: `\ufffd${"ä".repeat(2_047)}` });
  });

  test("an answer without end is cut, and the connection with it", async () => {
    let closed = () => {};
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const receiver = await startReceiver((response) => {
      const pour = () => {
        while (!response.destroyed && response.write("a".repeat(10_000)));
      };
      response.on("drain", pour).on("close", closed);
      pour();
    });
    expect(await sendWebhook(messageTo(receiver))).toMatchObject({ status: 200, isCut: true });
    await isClosed;
  });

  test("an answer that stops in the middle is an answer: its status stands", async () => {
    const receiver = await startReceiver((response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half");
    });
    expect(await sendWebhook(messageTo(receiver, { limits: { timeout: 100 } }))).toEqual({
      status: 200,
      text: "half",
      isCut: true,
    });
    const broken = await startReceiver((response) => {
      response.writeHead(400, { "content-length": "100" });
      response.write("half", () => response.destroy());
    });
    expect(await failed(messageTo(broken))).toMatchObject({ status: 400, delivered: false });
  });
});

describe("uncertain", () => {
  test("no server listens: nothing was sent", async () => {
    const error = await failed(messageTo({ port: await freePort() }));
    expect(error).toBeInstanceOf(WebhookUnreachableError);
    expect(error).toMatchObject({
      delivered: false,
      retryable: true,
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });

  test("an unknown name: nothing was sent", async () => {
    const { resolve: _, ...message } = messageTo({ port: 8080 }, { url: "http://nowhere.invalid:8080/" });
    expect(await failed(message)).toBeInstanceOf(WebhookUnreachableError);
  });

  test("a name whose look-up does not end: nothing was sent", async () => {
    const resolve = () => new Promise<never>(() => {});
    const error = await failed(messageTo({ port: 8080 }, { resolve, limits: { connect: 50 } }));
    expect(error).toBeInstanceOf(WebhookUnreachableError);
  });

  test("no answer in time: in doubt", async () => {
    const receiver = await startReceiver(() => {});
    const error = await failed(messageTo(receiver, { limits: { timeout: 100 } }));
    expect(error).toBeInstanceOf(WebhookUncertainError);
    expect(error).toMatchObject({ delivered: "unknown", retryable: true, status: undefined });
    expect(receiver.received).toHaveLength(1);
  });

  test("answers that drip do not prolong the time", async () => {
    const receiver = await startReceiver((response) => {
      const drip = () => response.write("a", () => !response.destroyed && setImmediate(drip));
      drip();
    });
    const limits = { timeout: 100, answerReadBytesMax: 16_777_216 };
    expect(await sendWebhook(messageTo(receiver, { limits }))).toMatchObject({ isCut: true });
  });

  test.each<[string, string]>([
    ["closes the connection without a word", ""],
    ["speaks no HTTP", "220 mail.example.com ESMTP\r\n"],
    ["answers with half a head", "HTTP/1.1 200 OK\r\nContent-Le"],
    ["answers with an endless head", `HTTP/1.1 200 OK\r\nX: ${"a".repeat(100_000)}\r\n\r\n`],
    ["changes the protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: irc\r\n\r\n"],
  ])("a receiver that %s: in doubt", async (_, words) => {
    const receiver = await startSocketReceiver((socket) => socket.once("data", () => socket.end(words)));
    const error = await failed(messageTo(receiver));
    expect(error).toBeInstanceOf(WebhookUncertainError);
    expect(error.delivered).toBe("unknown");
  });

  test("a reset after the message: in doubt", async () => {
    const receiver = await startSocketReceiver((socket) => socket.once("data", () => socket.resetAndDestroy()));
    expect(await failed(messageTo(receiver))).toMatchObject({
      delivered: "unknown",
      message: expect.stringContaining("ECONNRESET"),
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
