// Takes Telegram's updates over HTTP. An update is answered with 200 when everything about it is stored; otherwise Telegram brings it again.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Bot, webhookCallback } from "grammy";

export interface WebhookServer {
  /** Where it listens on this machine. */
  readonly url: string;
  stop(): Promise<void>;
}

/** grammY compares the secret token of each request and answers a wrong one with 401. */
export async function startWebhookServer(bot: Bot, secretToken: string, port = 0): Promise<WebhookServer> {
  await bot.init();
  const takeUpdate = webhookCallback(bot, "http", { secretToken });
  let isStopping = false;
  const tell = tellNowAndThen();
  const server = createServer((request, response) => {
    // Also over connections that are open: Telegram brings it again, to the next process.
    if (isStopping) {
      response.writeHead(503, { connection: "close" }).end();
      return;
    }
    if (request.method !== "POST" || request.url !== "/telegram") {
      response.writeHead(404).end();
      return;
    }
    takeUpdate(request, response).catch((error: unknown) => {
      tell(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(new Error(`${whyNoPort(port, error)} Choose another one: WEBHOOK_PORT.`, { cause: error })),
    );
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/telegram`,
    stop: () => {
      isStopping = true;
      return close(server);
    },
  };
}

function whyNoPort(port: number, { code, message }: NodeJS.ErrnoException): string {
  if (code === "EADDRINUSE") return `Port ${port} of this machine is taken by another process.`;
  if (code === "EACCES") return `Port ${port} of this machine is not for this user.`;
  return `Port ${port} of this machine cannot be opened: ${message}.`;
}

const TELL_MS = 5_000;

/** A database that is away fails every update: one line in a while says so for all of them. */
function tellNowAndThen(): (error: unknown) => void {
  let untold = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    untold++;
    if (performance.now() - toldAt < TELL_MS) return;
    const what = untold === 1 ? "An update was" : `${untold} updates were`;
    console.error(`error: ${what} not taken; Telegram repeats that: ${error instanceof Error ? error.message : error}`);
    toldAt = performance.now();
    untold = 0;
  };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // What is being answered is answered; connections that are merely kept open are not waited for.
  server.closeIdleConnections();
  await closed;
}
