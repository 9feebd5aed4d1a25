// Answers probes of a cluster: does the supervisor live, can it be given work, and how many workers should its pool have. Reads only, says no names of
// jobs or tenants, so it needs no credential.
//
//  GET /healthz   503: a part of the worker is stuck, or the pool has given up; start the process again
//  GET /readyz    503: it starts, stops, or has no child that is ready
//  GET /desired   { "pool", "desired" } for KEDA's metrics-api
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { startListening } from "../base/listening.js";
import type { SupervisorHealth } from "./supervisor-health.js";

export interface Probed {
  readonly pool: string;
  health(): SupervisorHealth;
  /** Undefined: not known yet. */
  desired(): Promise<number | undefined>;
}

export interface ListeningHealth {
  readonly url: string;
  close(): Promise<void>;
}

export async function listenHealth(
  supervisor: Probed,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<ListeningHealth> {
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?", 1)[0]!;
    if (request.method !== "GET" && request.method !== "HEAD")
      return say(response, 405, { status: "only GET is answered" });
    void answer(supervisor, path).then(
      ({ status, body }) => say(response, status, body),
      () => say(response, 503, { status: "the database does not answer" }),
    );
  });
  await startListening(server, { host, port });
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${own}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function answer(supervisor: Probed, path: string): Promise<{ readonly status: number; readonly body: object }> {
  if (path === "/desired") {
    const desired = await supervisor.desired();
    if (desired === undefined) return { status: 503, body: { status: "nothing is decided yet" } };
    return { status: 200, body: { pool: supervisor.pool, desired } };
  }
  const { live, ready, problems, children } = supervisor.health();
  const isFine = path === "/healthz" ? live : path === "/readyz" ? ready : undefined;
  if (isFine === undefined) return { status: 404, body: { status: "ask for /healthz, /readyz or /desired" } };
  return { status: isFine ? 200 : 503, body: { status: isFine ? "ok" : "not ok", problems, children } };
}

function say(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}
