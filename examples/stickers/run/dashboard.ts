// The dashboard beside the bot, in this process: what `fairmill serve` does, mounted in a server of our own with a page of stickers.
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { createHttpHandler } from "fairmill/http";
import type { Parts } from "../parts.js";
import { createGallery } from "./gallery.js";

export interface Dashboard {
  readonly url: string;
  stop(): Promise<void>;
}

/** On loopback alone, at a free port. */
export async function startDashboard(parts: Parts): Promise<Dashboard> {
  const { databaseUrl, schema } = parts.settings;
  const gallery = createGallery(parts);
  const handler = createHttpHandler({ databaseUrl, schema, auth: "loopback" });
  const server = createAdaptorServer({
    fetch: (request) => gallery(request) ?? handler(request),
    overrideGlobalObjects: false,
  }) as Server;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  handler.start();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      const closed = once(server, "close");
      server.close();
      // Open screens listen for news and would keep it from ending.
      server.closeAllConnections();
      await closed;
      await handler.close();
    },
  };
}
