// What a route is: its path, who may call it, what it takes and answers, and the function that does it. The OpenAPI document and the tests read the same.
import type { Backend } from "./backend.js";
import type { Role } from "./credentials.js";
import type { Caller } from "./gatekeeper.js";
import { HttpProblem } from "./problem.js";
import { type Infer, integerText, object, optional, type Schema, text } from "./schema.js";

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** What a route gets, checked. */
export interface Call<Query, Body> {
  readonly request: Request;
  readonly caller: Caller;
  /** The tenant that the caller is narrowed to. */
  readonly tenant: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly http: Backend;
}

export interface Route {
  readonly method: Method;
  /** Below /api/v1, parts in braces: "/jobs/{id}". */
  readonly path: string;
  readonly summary: string;
  /** The least role on the ladder viewer, operator, admin; "anyone": before signing in; "answer": the holder of a link to a question, and no other. */
  readonly role: "anyone" | "answer" | Exclude<Role, "enqueue">;
  /** Others that may call it: they stand beside the ladder. */
  readonly also: readonly ("enqueue" | "job")[];
  /** "own": a credential of one tenant sees its own things. "refused": it is about all tenants. */
  readonly tenants: "own" | "refused";
  readonly query: Schema<unknown>;
  readonly body: Schema<unknown> | undefined;
  readonly bodyBytesMax: number;
  readonly answer: Schema<unknown> | undefined;
  readonly status: number;
  handle(call: Call<never, never>): Promise<unknown>;
}

interface Spec<Q extends Schema<unknown>, B extends Schema<unknown> | undefined> {
  readonly summary: string;
  readonly role: Route["role"];
  readonly also?: Route["also"];
  readonly tenants: Route["tenants"];
  readonly query?: Q;
  readonly body?: B;
  readonly bodyBytesMax?: number;
  readonly answer?: Schema<unknown>;
  readonly status?: number;
  handle(call: Call<Infer<Q>, B extends Schema<infer T> ? T : undefined>): Promise<unknown>;
}

export const BODY_BYTES_MAX = 64 * 1024;
const NOTHING = object({});

export function route<Q extends Schema<unknown> = typeof NOTHING, B extends Schema<unknown> | undefined = undefined>(
  method: Method,
  path: string,
  spec: Spec<Q, B>,
): Route {
  return {
    also: [],
    body: undefined,
    answer: undefined,
    status: spec.answer === undefined ? 204 : 200,
    bodyBytesMax: BODY_BYTES_MAX,
    ...spec,
    method,
    path,
    query: spec.query ?? NOTHING,
  } as unknown as Route;
}

/** An answer with another status than the route's own. */
export class Answered {
  readonly status: number;
  readonly value: unknown;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.value = value;
    this.headers = headers;
  }
}

export const ROWS_MAX = 200;
const ROWS = 50;
export const paging = { cursor: optional(text), limit: optional(integerText(1, ROWS_MAX)) };
export const limitIn = (query: { readonly limit?: number }): number => query.limit ?? ROWS;

const NOBODY: Caller = { actor: "nobody", role: "job", tenant: undefined, via: "none" };
const LADDER: readonly Role[] = ["viewer", "operator", "admin"];

/** Throws unless the caller may call the route. */
export function refuseStranger(route: Route, caller: Caller | undefined): Caller {
  if (route.role === "anyone") return caller ?? NOBODY;
  if (caller === undefined)
    throw new HttpProblem(
      401,
      "FAIRMILL_HTTP_SIGN_IN",
      "Sign in: with a bearer token, basic, or POST /api/v1/session.",
      {
        headers: { "www-authenticate": 'Bearer realm="fairmill"' },
      },
    );
  if (caller.role === "answer" || route.role === "answer") {
    if (caller.role === route.role) return caller;
  } else if (caller.role === "enqueue" || caller.role === "job") {
    if (route.also.includes(caller.role)) return caller;
  } else if (LADDER.indexOf(caller.role) >= LADDER.indexOf(route.role)) {
    if (caller.tenant === undefined || route.tenants === "own") return caller;
    throw new HttpProblem(
      403,
      "FAIRMILL_HTTP_TENANT_SCOPE",
      `This is about all tenants; "${caller.actor}" may see one of them.`,
    );
  }
  throw new HttpProblem(
    403,
    "FAIRMILL_HTTP_ROLE",
    `This needs the role ${route.role}; "${caller.actor}" has ${caller.role}.`,
  );
}
