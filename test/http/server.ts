// A handler for a test, and ways to ask it: as one of several credentials, with every answer compared with the shape that the API describes.
import { createHttpHandler, type HttpHandler, type HttpOptions } from "fairmill/http";
import { expect } from "vitest";
import type { Route } from "../../src/http/route.js";
import { ROUTES } from "../../src/http/routes/all.js";
import { checked } from "../../src/http/schema.js";
import { problem } from "../../src/http/shapes.js";
import type { TestDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";

export const SECRETS = {
  admin: "admin-secret-0123456789",
  operator: "operator-secret-0123456",
  viewer: "viewer-secret-012345678",
  acmeOperator: "acme-operator-secret-01",
  acmeViewer: "acme-viewer-secret-0123",
  acmeEnqueue: "acme-enqueue-secret-012",
} as const;
export type Who = keyof typeof SECRETS | "nobody";

export const CREDENTIALS: HttpOptions["auth"] = [
  { name: "ada", role: "admin", secret: SECRETS.admin },
  { name: "otto", role: "operator", secret: SECRETS.operator },
  { name: "vera", role: "viewer", secret: SECRETS.viewer },
  { name: "acme-otto", role: "operator", tenant: "acme", secret: SECRETS.acmeOperator },
  { name: "acme-vera", role: "viewer", tenant: "acme", secret: SECRETS.acmeViewer },
  { name: "acme-app", role: "enqueue", tenant: "acme", secret: SECRETS.acmeEnqueue },
];
export const INTERNAL_SECRET = "an internal secret of at least 32 bytes";
const quiet = () => {};
export const silent = { debug: quiet, info: quiet, warn: quiet, error: quiet, child: () => silent };

export interface Asked<T = Record<string, unknown>> {
  readonly status: number;
  readonly body: T;
  readonly headers: Headers;
}

export interface TestServer {
  readonly handler: HttpHandler;
  ask<T = Record<string, unknown>>(
    who: Who,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Asked<T>>;
}

export function serverFor(db: TestDatabase, options: Partial<HttpOptions> = {}): TestServer {
  const handler = createHttpHandler({
    databaseUrl: db.url,
    auth: CREDENTIALS!,
    secret: INTERNAL_SECRET,
    connectionsMax: 4,
    logger: silent,
    ...options,
  });
  endAfterTest(() => handler.close());
  return { handler, ask: (who, method, path, body, headers) => ask(handler, who, method, path, body, headers) };
}

export async function ask<T>(
  handler: HttpHandler,
  who: Who,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Asked<T>> {
  const isApi = !/^\/(healthz|readyz|metrics|tick)/.test(path);
  const url = `http://127.0.0.1${isApi ? "/api/v1" : ""}${path}`;
  const response = await handler(
    new Request(url, {
      method,
      headers: {
        ...(who !== "nobody" && { authorization: `Bearer ${SECRETS[who]}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    }),
  );
  const text = await response.text();
  const parsed = (text === "" ? undefined : JSON.parse(text)) as T;
  if (isApi) checkShape(method, path, response, parsed);
  return { status: response.status, body: parsed, headers: response.headers };
}

export function routeOf(method: string, path: string): Route | undefined {
  const parts = path.split("?")[0]!.split("/");
  const fits = (route: Route) => {
    const own = route.path.split("/");
    return own.length === parts.length && own.every((part, n) => part.startsWith("{") || part === parts[n]);
  };
  return ROUTES.find((route) => route.method === method && fits(route));
}

/** Every answer of every test has the shape that the document describes. */
function checkShape(method: string, path: string, response: Response, body: unknown): void {
  const route = routeOf(method, path);
  if (response.status >= 400) {
    expect(response.headers.get("content-type"), path).toBe("application/problem+json");
    expect(checked(problem, body).issues, path).toEqual([]);
    return;
  }
  if (route?.answer === undefined || response.status === 304) return expect(body, path).toBeUndefined();
  expect(checked(route.answer, body).issues, `${method} ${path}`).toEqual([]);
}
