// Workers, and what the supervisor decided.

import { poolRow, scalingDecision } from "../figure-shapes.js";
import { mapPage, pageOf } from "../page.js";
import { notFound, notWired, requestInvalid } from "../problem.js";
import { readJobsOfWorker } from "../rooms.js";
import { limitIn, paging, type Route, route } from "../route.js";
import { name, number, object, oneOf, optional } from "../schema.js";
import * as shapes from "../shapes.js";
import { spanIn, spanQuery } from "../span.js";
import { readWorker, readWorkers } from "../view-statements.js";

const JOBS_MAX = 200;

export const fleetRoutes: readonly Route[] = [
  route("GET", "/workers", {
    summary: "A page of workers: living ones first, then the newest",
    role: "viewer",
    tenants: "refused",
    query: object({ state: optional(oneOf("alive", "lost", "stopped")), ...paging }),
    answer: shapes.pageOf(shapes.workerRow),
    handle: async (call) => {
      const { state, cursor } = call.query;
      const [, alive, at, id] = /^(true|false):(\d+(?:\.\d+)?):(.+)$/s.exec(cursor ?? "") ?? [];
      if (cursor !== undefined && id === undefined)
        throw requestInvalid([{ path: "cursor", message: "is not what a page before this one answered" }]);
      const before = id === undefined ? undefined : { alive: alive === "true", at: at!, id };
      const read = (limit: number) => readWorkers(call.http.lists, state, before, limit);
      const page = await pageOf(limitIn(call.query), read, (row) => `${row.state === "alive"}:${row.at}:${row.id}`);
      return mapPage(page, ({ at: _at, ...row }) => row);
    },
  }),
  route("GET", "/workers/{id}", {
    summary: "One worker, and what it runs",
    role: "viewer",
    tenants: "refused",
    answer: shapes.workerDetail,
    handle: async ({ http, params }) => {
      const worker = await readWorker(http.view, params["id"] ?? "");
      if (worker === undefined) throw notFound("such worker");
      return { ...worker, jobs: await readJobsOfWorker(http.view, worker.id, JOBS_MAX) };
    },
  }),
  route("GET", "/scaling/decisions", {
    summary: "What the supervisor decided, newest first",
    role: "viewer",
    tenants: "refused",
    query: object({ ...spanQuery, pool: optional(name), ...paging }),
    answer: shapes.pageOf(scalingDecision),
    handle: async ({ http, query }) => {
      if (http.scaling === undefined) throw notWired("What the supervisor decides");
      const { pool, cursor } = query;
      const page = { pool, cursor, limit: limitIn(query) };
      return { ...(await http.scaling.decisions(await spanIn(query, http), page)), notice: null };
    },
  }),
  route("GET", "/scaling/pools", {
    summary: "The pools of workers, and their processes",
    role: "viewer",
    tenants: "refused",
    answer: shapes.itemsOf(poolRow),
    handle: async ({ http }) => {
      if (http.scaling === undefined) throw notWired("What the supervisor decides");
      return { items: await http.scaling.pools() };
    },
  }),
  route("GET", "/scaling/pools/{pool}/desired", {
    summary: "How many workers a pool should have now, for the autoscaler of a cluster",
    role: "viewer",
    tenants: "refused",
    answer: object({ pool: name, desired: number }),
    handle: async ({ http, params }) => {
      if (http.scaling?.desired === undefined) throw notWired("What the supervisor decides");
      const pool = params["pool"] ?? "";
      const desired = await http.scaling.desired(pool);
      if (desired === undefined) throw notFound("such pool");
      return { pool, desired };
    },
  }),
];
