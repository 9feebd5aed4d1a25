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
  const server = createServer((request, response) => {
    if (request.method !== "POST" || request.url !== "/telegram") {
      response.writeHead(404).end();
      return;
    }
    takeUpdate(request, response).catch((error: unknown) => {
      console.error(`error: An update was not taken: ${error instanceof Error ? error.message : error}`);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/telegram`,
    stop: () => close(server),
  };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // What is being answered is answered; connections that are merely kept open are not waited for.
  server.closeIdleConnections();
  await closed;
}
