// A server of our own around the handler. It listens on loopback unless credentials say who may come in.

import type { Server } from "node:http";
import { isIP } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { ConfigError } from "../base/errors.js";
import { startListening } from "../base/listening.js";
import type { HttpHandler } from "./create-handler.js";

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Whether callers have to sign in. */
  readonly isGuarded: boolean;
}

export interface Listening {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** 127.0.0.0/8 and ::1, and the name for them. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

export function refuseOpenDoor({ host, isGuarded }: Pick<ListenOptions, "host" | "isGuarded">): void {
  if (isGuarded || isLoopback(host)) return;
  throw new ConfigError(
    "host",
    `host: "${host}" can be reached from outside, and no sign-in is asked for. Set FAIRMILL_DASHBOARD_AUTH (name:role:secret), or listen on 127.0.0.1.`,
  );
}

export async function listen(handler: HttpHandler, options: ListenOptions): Promise<Listening> {
  refuseOpenDoor(options);
  const { host, port } = options;
  const server = createAdaptorServer({ fetch: handler, overrideGlobalObjects: false }) as Server;
  await startListening(server, { host: host === "localhost" ? "127.0.0.1" : host, port });
  const { port: taken } = server.address() as { port: number };
  handler.start();
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}`,
    port: taken,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // Streams of notices would never end by themselves.
      server.closeAllConnections();
      await closed;
      await handler.close();
    },
  };
}
