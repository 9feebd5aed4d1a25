// Tenants, queues and kinds: what waits and runs, their limits, pausing them.

import type { Session } from "../../db/session.js";
import { act } from "../acting.js";
import type { Backend } from "../backend.js";
import { pageOf } from "../page.js";
import { notFound, requestInvalid } from "../problem.js";
import {
  type CheckedLimits,
  checkLimits,
  checkPauseEnd,
  LIMIT_SCOPES,
  type LimitOverview,
  type LimitScope,
  type PauseEnd,
  readKinds,
  readQueues,
  readTenants,
  setLimits,
} from "../rooms.js";
import { type Call, limitIn, paging, type Route, route } from "../route.js";
import { duration, integer, nullable, number, object, oneOf, optional, type Schema, time } from "../schema.js";
import * as shapes from "../shapes.js";
import { readChannels, readGauges, readKindWorkers } from "../view-statements.js";

export const rateBody = object({
  limit: integer(1, 1_000_000),
  per: duration,
  how: optional(oneOf("window", "uniform")),
  at: optional(oneOf("start", "enqueue")),
});
const settings = { maxRunning: optional(nullable(integer(0, 1_000_000))), rate: optional(nullable(rateBody)) };

const pauseBody = object({ until: optional(time), for: optional(duration) });

const limitsOf = <T extends LimitOverview>({ rate, ...rest }: T) => ({
  ...rest,
  rate: rate && { limit: rate.limit, perMs: rate.per, how: rate.how, at: rate.at },
});
const ruleOf = (limits: CheckedLimits | null) =>
  limits && { per: limits.per, maxRunning: limits.active, whenFull: limits.whenActive, rate: limits.rate };

interface Thing {
  readonly scope: LimitScope;
  readonly path: "tenants" | "queues" | "kinds";
  readonly answer: Schema<unknown>;
  readonly body: Schema<object>;
  read(http: Backend, db: Session, after: string, limit: number): Promise<Record<string, unknown>[]>;
}

const THINGS: readonly Thing[] = [
  {
    scope: "tenant",
    path: "tenants",
    answer: shapes.tenantRow,
    body: object({ weight: optional(nullable(number)), ...settings }) as Schema<object>,
    read: async (_http, db, after, limit) => (await readTenants(db, { after, limit })).map(limitsOf),
  },
  {
    scope: "queue",
    path: "queues",
    answer: shapes.queueRow,
    body: object(settings) as Schema<object>,
    read: async (_http, db, after, limit) => (await readQueues(db, { after, limit })).map(limitsOf),
  },
  {
    scope: "kind",
    path: "kinds",
    answer: shapes.kindRow,
    body: object(settings) as Schema<object>,
    read: async (_http, db, after, limit) => {
      const kinds = await readKinds(db, { after, limit });
      const workers = await readKindWorkers(
        db,
        kinds.map(({ kind }) => kind),
      );
      return kinds.map(({ limits, ...row }) => ({
        ...limitsOf(row),
        definition: ruleOf(limits),
        workers: workers.get(row.kind) ?? 0,
      }));
    },
  },
];

/** A text just before this one, in the order of bytes: a page that begins behind it begins with it. */
function justBefore(text: string): string {
  const characters = [...text];
  const last = characters.pop()!.codePointAt(0)!;
  if (last <= 1) return characters.join("");
  // Between U+D7FF and U+E000 lie halves of characters, which no text has.
  const before = last === 0xe000 ? 0xd7ff : last - 1;
  return characters.join("") + String.fromCodePoint(before) + "\u{10FFFF}".repeat(10);
}

const EMPTY: Record<LimitScope, object> = {
  tenant: { weight: 1, running: none(), ready: none() },
  queue: { workers: 0, running: none(), ready: none(), scheduled: none(), blocked: none() },
  kind: { workers: 0, definition: null },
};
function none() {
  return { count: 0, more: false };
}

/** A row for every name: one that has neither jobs nor settings is empty. */
async function one(http: Backend, thing: Thing, wanted: string): Promise<object> {
  const after = justBefore(wanted);
  const rows = await thing.read(http, http.view, after, 3);
  const found = rows.find((row) => row[thing.scope] === wanted);
  return (
    found ?? {
      [thing.scope]: wanted,
      maxRunning: null,
      rate: null,
      pausedAt: null,
      pausedUntil: null,
      ...EMPTY[thing.scope],
    }
  );
}

/** The tenant of a narrowed caller. */
export const readTenantRow = (http: Backend, tenant: string): Promise<object> => one(http, THINGS[0]!, tenant);

const nameFor = (call: Call<unknown, unknown>, thing: Thing): string => {
  const wanted = call.params["name"] ?? "";
  if (thing.scope === "tenant" && call.tenant !== undefined && wanted !== call.tenant) throw notFound("such tenant");
  const isName = Buffer.byteLength(wanted) <= 200 && !wanted.includes("\0") && wanted.isWellFormed() && wanted !== "";
  if (!isName) throw requestInvalid([{ path: "name", message: "is not a name of 1 to 200 bytes" }]);
  return wanted;
};

const routesOf = (thing: Thing): Route[] => {
  const tenants = thing.scope === "tenant" ? "own" : "refused";
  return [
    route("GET", `/${thing.path}`, {
      summary: `A page of ${thing.path} by name, with their limits and what waits and runs`,
      role: "viewer",
      tenants,
      query: object(paging),
      answer: shapes.pageOf(thing.answer),
      handle: async (call) => {
        if (call.tenant !== undefined)
          return { items: [await one(call.http, thing, call.tenant)], next: null, notice: null };
        const after = call.query.cursor ?? "";
        const read = (limit: number) => thing.read(call.http, call.http.lists, after, limit);
        return pageOf(limitIn(call.query), read, (row) => String(row[thing.scope]));
      },
    }),
    route("GET", `/${thing.path}/{name}`, {
      summary: `One ${thing.scope}`,
      role: "viewer",
      tenants,
      answer: thing.answer,
      handle: (call) => one(call.http, thing, nameFor(call, thing)),
    }),
    route("PUT", `/${thing.path}/{name}`, {
      summary: `Change the limits of a ${thing.scope}: what is left out stays, null takes a limit away`,
      role: "admin",
      tenants: "refused",
      body: thing.body,
      answer: thing.answer,
      handle: async (call) => {
        const wanted = nameFor(call, thing);
        const stored = checkLimits(call.body, thing.scope, `PUT /${thing.path}`);
        const detail = call.body as Record<string, unknown>;
        await act(
          call,
          `${thing.scope}.set`,
          `${thing.scope} ${wanted}`,
          () => setLimits(call.http.db, thing.scope, wanted, stored),
          { detail },
        );
        return one(call.http, thing, wanted);
      },
    }),
    route("POST", `/${thing.path}/{name}/pause`, {
      summary: `Start no more jobs of a ${thing.scope}: until a time, for a while, or until it is resumed`,
      role: "operator",
      tenants: "refused",
      body: pauseBody,
      answer: thing.answer,
      handle: async (call) => {
        const wanted = nameFor(call, thing);
        const stored = checkPauseEnd(call.body as PauseEnd, "pause");
        const set = () => setLimits(call.http.db, thing.scope, wanted, stored);
        await act(call, `${thing.scope}.pause`, `${thing.scope} ${wanted}`, set, { detail: { ...call.body } });
        return one(call.http, thing, wanted);
      },
    }),
    route("POST", `/${thing.path}/{name}/resume`, {
      summary: `Start jobs again of a ${thing.scope}`,
      role: "operator",
      tenants: "refused",
      answer: thing.answer,
      handle: async (call) => {
        const wanted = nameFor(call, thing);
        const set = () => setLimits(call.http.db, thing.scope, wanted, { paused: false });
        await act(call, `${thing.scope}.resume`, `${thing.scope} ${wanted}`, set);
        return one(call.http, thing, wanted);
      },
    }),
  ];
};

const FACETS_MAX = 200;
/** Where a page of gauges begins: behind this name. */
const CURSOR = new RegExp(`^(${LIMIT_SCOPES.join("|")}):(.*)$`, "s");

export const limitRoutes: readonly Route[] = [
  ...THINGS.flatMap(routesOf),
  route("GET", "/limits", {
    summary: "Every tenant, queue and kind that has a limit, and how much of it is used",
    role: "viewer",
    tenants: "refused",
    query: object({ scope: optional(shapes.limitScope), ...paging }),
    answer: shapes.pageOf(shapes.limitGauge),
    handle: async (call) => {
      const [, scope, ofName] = CURSOR.exec(call.query.cursor ?? "") ?? [];
      if (call.query.cursor !== undefined && scope === undefined)
        throw requestInvalid([{ path: "cursor", message: "is not what a page before this one answered" }]);
      const after = scope === undefined ? undefined : { scope, name: ofName! };
      const read = (limit: number) => readGauges(call.http.lists, call.query.scope, after, limit);
      return pageOf(limitIn(call.query), read, (row) => `${row.scope}:${row.name}`);
    },
  }),
  route("GET", "/facets", {
    summary: "Names to choose from: queues, kinds, tenants, channels",
    role: "viewer",
    tenants: "own",
    answer: shapes.facets,
    handle: async ({ http, tenant }) => {
      const page = { after: "", limit: FACETS_MAX };
      const read = async <T>(rows: Promise<readonly T[]>, of: (row: T) => string) =>
        (await pageOf(FACETS_MAX, () => rows, of)).items.map(of);
      const channels = await read(readChannels(http.lists, tenant), ({ channel }) => channel);
      const kinds = await read(readKinds(http.lists, page), ({ kind }) => kind);
      if (tenant !== undefined) return { queues: [], kinds: [], tenants: [tenant], channels };
      return {
        queues: await read(readQueues(http.lists, page), ({ queue }) => queue),
        kinds,
        tenants: await read(readTenants(http.lists, page), ({ tenant: one }) => one),
        channels,
      };
    },
  }),
];
