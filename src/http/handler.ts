// The whole of it as one function from a request to an answer: mount it in any server that speaks fetch. Who asks is known before anything is read,
// what comes in is checked before anything is done, and whatever is thrown becomes a typed problem.
import { createHash } from "node:crypto";
import { type Context, Hono } from "hono";
import { recordError } from "../base/error-record.js";
import type { Logger } from "../base/log.js";
import { explainOurs } from "../db/explain-failure.js";
import type { Backend } from "./backend.js";
import { readJson } from "./body.js";
import { type Caller, refuseCrossOrigin, refuseForeignHost } from "./gatekeeper.js";
import { HttpProblem, noTicks, notFound, notWired, requestInvalid, toProblem } from "./problem.js";
import { Answered, type Call, type Route, refuseStranger } from "./route.js";
import { ROUTES } from "./routes/all.js";
import { checked, object } from "./schema.js";
import { SAFE_HEADERS, type StaticFiles } from "./static-files.js";

export const API = "/api/v1";
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
const NO_BODY = object({});

export interface AppOptions {
  readonly http: Backend;
  readonly base: string;
  readonly files: StaticFiles | undefined;
  /** The caller; null: unknown. */
  readonly authorize: (request: Request) => Promise<Caller | undefined>;
  readonly metricsText: (() => Promise<string>) | undefined;
  readonly tick: ((request: Request) => Promise<Response>) | undefined;
  readonly isReady: () => Promise<boolean>;
  /** What says that nothing does the fleet's work; empty: all is well. */
  readonly fleetTroubles: () => Promise<readonly string[]>;
}

export function createApp(options: AppOptions): Hono {
  const { http, base } = options;
  const app = new Hono();
  const guarded = (answer: (request: Request, c: Context) => Promise<Response>) => (c: Context) =>
    guard(http, c.req.raw, () => answer(c.req.raw, c));

  app.get(`${base}/healthz`, (c) => c.json({ status: "ok" }, 200, SAFE_HEADERS as Record<string, string>));
  app.get(
    `${base}/readyz`,
    guarded(async () => {
      const isReady = await options.isReady().catch(() => false);
      return answerOf(
        isReady ? 200 : 503,
        { status: isReady ? "ok" : "the database does not answer, or its schema does not fit" },
        {},
      );
    }),
  );
  app.get(
    `${base}/healthz/fleet`,
    guarded(async () => {
      const problems = await options.fleetTroubles().catch(() => ["the database does not answer"]);
      return answerOf(problems.length === 0 ? 200 : 503, { status: problems.join("; ") || "ok" }, {});
    }),
  );
  app.get(
    `${base}/metrics`,
    guarded((request) => metrics(options, request)),
  );
  // GET as well: some crons know nothing else, and would take the dashboard's page for a tick.
  app.on(
    ["GET", "POST"],
    `${base}/tick`,
    guarded(async (request) => {
      if (options.tick === undefined) throw noTicks();
      return options.tick(request);
    }),
  );
  for (const route of ROUTES) {
    const path = base + API + route.path.replaceAll(/\{(\w+)\}/g, ":$1");
    app.on(
      route.method,
      path,
      guarded((request, c) => run(options, route, request, c.req.param())),
    );
  }
  const paths = new Set(ROUTES.map(({ path }) => path));
  for (const path of paths) {
    const methods = ROUTES.filter((route) => route.path === path).map(({ method }) => method);
    app.all(
      base + API + path.replaceAll(/\{(\w+)\}/g, ":$1"),
      guarded(() => Promise.reject(wrongMethod(methods))),
    );
  }
  app.all(
    `${base}${API}/*`,
    guarded(() => Promise.reject(notFound("such path"))),
  );
  app.get(
    `${base}/*`,
    guarded(async (request) => {
      if (options.files === undefined) throw notFound("such path");
      return options.files.serve(new URL(request.url).pathname.slice(base.length) || "/", base);
    }),
  );
  app.notFound((c) => guard(http, c.req.raw, () => Promise.reject(notFound("such path"))));
  return app;
}

const wrongMethod = (methods: readonly string[]) =>
  new HttpProblem(405, "FAIRMILL_HTTP_METHOD", `This path knows ${methods.join(", ")}.`, {
    headers: { allow: methods.join(", ") },
  });

async function metrics(options: AppOptions, request: Request): Promise<Response> {
  const caller = await options.authorize(request);
  const role = { role: "viewer", also: [], tenants: "refused" } as unknown as Route;
  refuseStranger(role, caller);
  if (options.metricsText === undefined) throw notWired("Metrics");
  const headers = { ...SAFE_HEADERS, "content-type": "text/plain; version=0.0.4; charset=utf-8" };
  return new Response(await options.metricsText(), { headers });
}

async function run(
  { http, authorize }: AppOptions,
  route: Route,
  request: Request,
  params: Record<string, string>,
): Promise<Response> {
  if (http.gatekeeper.isOpen) refuseForeignHost(request, LOOPBACK);
  const known = await authorize(request);
  refuseCrossOrigin(request, known);
  const caller = refuseStranger(route, known);
  const query = checked(route.query, queryOf(request));
  if (query.issues.length > 0) throw requestInvalid(query.issues);
  const body = route.method === "GET" ? undefined : await bodyOf(route, request);
  const call = { request, caller, tenant: caller.tenant, params, query: query.value, body, http };
  const value = await route.handle(call as unknown as Call<never, never>);
  if (value instanceof Response) return withHeaders(value, SAFE_HEADERS);
  if (value instanceof Answered) return answerOf(value.status, value.value, value.headers, request);
  return answerOf(route.status, value, {}, request);
}

async function bodyOf(route: Route, request: Request): Promise<unknown> {
  const given = await readJson(request, route.bodyBytesMax);
  const { value, issues } = checked(route.body ?? NO_BODY, given ?? {});
  if (issues.length > 0) throw requestInvalid(issues);
  return value;
}

/** A name that is given twice is a list. */
function queryOf(request: Request): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  const { searchParams } = new URL(request.url);
  for (const name of new Set(searchParams.keys())) {
    const values = searchParams.getAll(name);
    query[name] = values.length === 1 ? values[0]! : values;
  }
  return query;
}

function answerOf(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>>,
  request?: Request,
): Response {
  if (value === undefined) return new Response(null, { status: 204, headers: { ...SAFE_HEADERS, ...headers } });
  const text = JSON.stringify(value);
  const all = {
    ...SAFE_HEADERS,
    "content-type": "application/json; charset=utf-8",
    "cache-control": "private, no-cache",
    ...headers,
  };
  if (request?.method !== "GET" || status !== 200) return new Response(text, { status, headers: all });
  const etag = `W/"${createHash("sha1").update(text).digest("base64url")}"`;
  const isKnown = (request.headers.get("if-none-match") ?? "").split(/,\s*/).includes(etag);
  return isKnown
    ? new Response(null, { status: 304, headers: { ...all, etag } })
    : new Response(text, { status, headers: { ...all, etag } });
}

function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}

/** Whatever is thrown becomes a problem; only what is a fault of ours is logged as one. */
async function guard(
  http: { logger: Logger; db: { schema: string } },
  request: Request,
  answer: () => Promise<Response>,
) {
  try {
    return await answer();
  } catch (thrown) {
    const error = explainOurs(thrown, http.db.schema);
    const { problem, headers } = toProblem(error);
    const { pathname } = new URL(request.url);
    if (problem.status >= 500 && problem.status !== 501)
      http.logger.error(
        { err: recordError(error), method: request.method, path: pathname, code: problem.code },
        "a request failed",
      );
    const all = {
      ...SAFE_HEADERS,
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...headers,
    };
    return new Response(JSON.stringify(problem), { status: problem.status, headers: all });
  }
}
