// Real receivers on the loopback, and names that lead to them.
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer as createPlainServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Resolve } from "../../../src/outbox/webhook/destination.js";
import type { WebhookMessage } from "../../../src/outbox/webhook/send.js";

const pem = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");
/** Of hooks.example.com, signed by itself; only ever used on the loopback. */
export const certificate = pem("cert.pem");

export interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** What the sender asked the certificate of. */
  readonly servername: unknown;
}

type Answering = (response: ServerResponse, received: Received) => void;

export interface Receiver {
  readonly port: number;
  readonly received: Received[];
  /** How many connections were made, spoken on or not. */
  readonly connections: () => number;
}

/** Answers each request; ends with the test. */
export function startReceiver(answer: Answering): Promise<Receiver> {
  const { received, listener } = listening(answer);
  return start(createServer(listener), received);
}

export function startSecureReceiver(answer: Answering): Promise<Receiver> {
  const { received, listener } = listening(answer);
  return start(createSecureServer({ key: pem("key.pem"), cert: certificate }, listener), received);
}

/** Does with the bare connection what it likes. */
export const startSocketReceiver = (onSocket: (socket: Socket) => void): Promise<Receiver> =>
  start(
    createPlainServer((socket) => {
      socket.on("error", () => {});
      onSocket(socket);
    }),
    [],
  );

function listening(answer: Answering): { received: Received[]; listener: RequestListener } {
  const received: Received[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const { method, url, headers } = request;
      const { servername } = request.socket as { servername?: unknown };
      const one = { method, url, headers, body: Buffer.concat(chunks).toString(), servername };
      received.push(one);
      answer(response, one);
    });
  };
  return { received, listener };
}

async function start(server: Server, received: Received[]): Promise<Receiver> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket) => {
    connections++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, received, connections: () => connections };
}

/** Every name leads here, and who asked is counted. */
export function leadsTo(...addresses: string[]): Resolve & { readonly asked: string[] } {
  const asked: string[] = [];
  const resolve = async (hostname: string) => {
    asked.push(hostname);
    return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  };
  return Object.assign(resolve, { asked });
}

export const SECRET = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;

/** A message to a name that leads to the loopback. */
export const messageTo = ({ port }: { port: number }, more: Partial<WebhookMessage> = {}): WebhookMessage => ({
  url: `http://hooks.example.com:${port}/in?token=t0ken`,
  body: '{"hello":"world"}',
  idempotencyKey: "order-17",
  secret: SECRET,
  allowPrivate: true,
  resolve: leadsTo("127.0.0.1"),
  ...more,
});
