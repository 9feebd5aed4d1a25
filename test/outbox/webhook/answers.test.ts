// What the answer of a webhook's receiver means: taken, refused for good, worth another try, or uncertain.
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { sendWebhook, type WebhookMessage } from "../../../src/outbox/webhook/send.js";
import {
  type WebhookError,
  WebhookRefusedError,
  WebhookUncertainError,
  WebhookUnreachableError,
} from "../../../src/outbox/webhook/webhook-errors.js";
import { messageTo, startReceiver, startSocketReceiver } from "./receiver.js";

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
