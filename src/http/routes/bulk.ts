// Bulk actions: what one would do, starting one, following it, stopping it and going on.
import { act, ownOnly, tenantOf } from "../acting.js";
import { mapPage, pageOf } from "../page.js";
import { HttpProblem, notFound } from "../problem.js";
import {
  type BulkFilter,
  checkBulkFilter,
  endBulk,
  previewBulk,
  readBulk,
  readBulks,
  readJobRows,
  type StoredBulk,
  shownFilter,
  startBulk,
} from "../rooms.js";
import { type Call, limitIn, paging, type Route, route } from "../route.js";
import { boundedText, id, list, object, oneOf, optional, record } from "../schema.js";
import * as shapes from "../shapes.js";
import { toRow } from "./job-view.js";
import { checkedId, jobFilter } from "./jobs.js";

const filter = object({ ...jobFilter, payload: optional(record), ids: optional(list(id, 10_000)) });
const spec = object({
  action: oneOf("cancel", "retry", "redrive", "rerun"),
  filter,
  reason: optional(boundedText(1, 500)),
});
/** Ten thousand ids. */
const SPEC_BYTES_MAX = 512 * 1024;

export const toBulk = ({ afterId, upToId, filter: stored, ...bulk }: StoredBulk) => ({
  ...bulk,
  filter: shownFilter(stored),
  cursor: afterId,
  upTo: upToId,
});

async function bulkFor(call: Call<unknown, unknown>): Promise<StoredBulk> {
  const { id: bulkId = "" } = call.params;
  const bulk = /^\d{1,18}$/.test(bulkId) ? await readBulk(call.http.view, bulkId) : undefined;
  return ownOnly(call, bulk, "such bulk action");
}

const wantedFilter = (call: Call<unknown, { action: "cancel" | "retry" | "redrive" | "rerun"; filter: object }>) => {
  const given = call.body.filter as BulkFilter;
  const tenant = tenantOf(call, given.tenant);
  return checkBulkFilter(call.body.action, tenant === undefined ? given : { ...given, tenant });
};

export const bulkRoutes: readonly Route[] = [
  route("POST", "/bulk/preview", {
    summary: "What a bulk action would act on: counted to a bound, changes nothing",
    role: "operator",
    tenants: "own",
    body: spec,
    bodyBytesMax: SPEC_BYTES_MAX,
    answer: shapes.bulkPreview,
    handle: async (call) => {
      const { count, more, groups, samples } = await previewBulk(call.http.view, call.body.action, wantedFilter(call));
      const rows = (await readJobRows(call.http.view, samples)).map((row) => toRow(call.http, row));
      return { count: { count, more }, groups, samples: rows };
    },
  }),
  route("POST", "/bulk", {
    summary: "Act on all jobs that fit a filter",
    role: "operator",
    tenants: "own",
    body: spec,
    bodyBytesMax: SPEC_BYTES_MAX,
    answer: shapes.bulkAction,
    status: 202,
    handle: async (call) => {
      const { action, reason } = call.body;
      const stored = wantedFilter(call);
      const { actor } = call.caller;
      const start = () => startBulk(call.http.db, { action, filter: stored, actor, tenant: call.tenant, reason });
      const bulkId = await act(call, `bulk.${action}`, "jobs by a filter", start, {
        tenant: call.tenant,
        detail: { filter: call.body.filter, reason },
      });
      call.http.driveBulk(bulkId);
      return toBulk((await readBulk(call.http.view, bulkId))!);
    },
  }),
  route("GET", "/bulk", {
    summary: "A page of bulk actions, newest first",
    role: "viewer",
    tenants: "own",
    query: object({ state: optional(oneOf("running", "done", "stopped", "failed")), ...paging }),
    answer: shapes.pageOf(shapes.bulkAction),
    handle: async (call) => {
      const { state, cursor } = call.query;
      const before = cursor === undefined ? undefined : checkedId(cursor, "cursor");
      const read = (limit: number) => readBulks(call.http.lists, { state, tenant: call.tenant, before, limit });
      return mapPage(await pageOf(limitIn(call.query), read, (bulk) => bulk.id), toBulk);
    },
  }),
  route("GET", "/bulk/{id}", {
    summary: "A bulk action as it stands",
    role: "viewer",
    tenants: "own",
    answer: shapes.bulkAction,
    handle: async (call) => {
      const bulk = await bulkFor(call);
      // The process that began it may be gone: this look lets it go on.
      if (bulk.state === "running") call.http.driveBulk(bulk.id);
      return toBulk(bulk);
    },
  }),
  ...(["stop", "resume"] as const).map((verb) =>
    route("POST", `/bulk/{id}/${verb}`, {
      summary:
        verb === "stop" ? "Stop a bulk action; what was done stays" : "Let a stopped or failed bulk action go on",
      role: "operator",
      tenants: "own",
      answer: shapes.bulkAction,
      handle: async (call) => {
        const bulk = await bulkFor(call);
        const wanted = verb === "stop" ? "stopped" : "running";
        const end = () => endBulk(call.http.db, bulk.id, wanted);
        const state = await act(call, `bulk.${verb}`, `bulk action ${bulk.id}`, end, { tenant: call.tenant });
        if (state === "not_found") throw notFound("such bulk action");
        if (state !== wanted)
          throw new HttpProblem(
            409,
            "FAIRMILL_HTTP_CONFLICT",
            `Bulk action ${bulk.id} is ${state}: there is nothing to ${verb}.`,
          );
        if (state === "running") call.http.driveBulk(bulk.id);
        return toBulk((await readBulk(call.http.view, bulk.id))!);
      },
    }),
  ),
];
