// Batches and flows: lists, one with its nodes and critical path, cancelling and running again.
import { act, ownOnly, tenantOf } from "../acting.js";
import { mapPage, pageOf } from "../page.js";
import { notFound } from "../problem.js";
import { type FlowNodeInfo, readBatch, readBatches, readNodes, readWhy } from "../rooms.js";
import { type Call, limitIn, paging, type Route, route } from "../route.js";
import { name, number, object, oneOf, optional, text } from "../schema.js";
import * as shapes from "../shapes.js";
import { withoutOthers } from "./job-view.js";
import { checkedId } from "./jobs.js";

const LIVE_MAX = 10_000;
const toBatch = <T extends { readonly live: number }>(batch: T) => ({
  ...batch,
  live: { count: batch.live, more: batch.live >= LIVE_MAX },
});

async function batchFor(call: Call<unknown, unknown>, role: "batch" | "flow" | undefined) {
  const { id = "" } = call.params;
  const batch = /^\d{1,18}$/.test(id) ? await readBatch(call.http.view, id) : undefined;
  const found = ownOnly(call, batch, role === "flow" ? "such flow" : "such batch");
  if (role === "flow" && found.role !== "flow") throw notFound("such flow");
  return found;
}

/** The chain of nodes that took longest from the first start to the last end. */
function criticalPath(nodes: readonly FlowNodeInfo[], nowMs: number): Set<string> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const took = (node: FlowNodeInfo) =>
    node.startedAt === null ? 0 : (node.endedAt?.getTime() ?? nowMs) - node.startedAt.getTime();
  const longest = new Map<string, { ms: number; before: string | undefined }>();
  // Nodes come in the order of their ids, and one that is waited for has a lower one.
  for (const node of nodes) {
    let best: { ms: number; before: string | undefined } = { ms: 0, before: undefined };
    for (const before of node.after) {
      const way = longest.get(before);
      if (way !== undefined && way.ms >= best.ms) best = { ms: way.ms, before };
    }
    longest.set(node.id, { ms: best.ms + took(node), before: best.before });
  }
  const path = new Set<string>();
  let last: string | undefined = [...longest].toSorted(([, a], [, b]) => b.ms - a.ms)[0]?.[0];
  while (last !== undefined && byId.has(last) && !path.has(last)) {
    path.add(last);
    last = longest.get(last)?.before;
  }
  return path;
}

const listOf = (path: string, fixed: "flow" | undefined): Route =>
  route("GET", path, {
    summary: fixed === "flow" ? "A page of flows, newest first" : "A page of batches and flows, newest first",
    role: "viewer",
    tenants: "own",
    query: object({
      ...(fixed === undefined && { role: optional(oneOf("batch", "flow")) }),
      state: optional(name),
      tenant: optional(name),
      ...paging,
    }),
    answer: shapes.pageOf(shapes.batchRow),
    handle: async (call) => {
      const { state, tenant, cursor, role } = call.query as {
        state?: string;
        tenant?: string;
        cursor?: string;
        role?: string;
      };
      const filter = {
        role: fixed ?? role,
        state,
        tenant: tenantOf(call, tenant),
        before: cursor === undefined ? undefined : checkedId(cursor, "cursor"),
      };
      const read = (limit: number) =>
        readBatches(call.http.lists, { ...filter, limit } as Parameters<typeof readBatches>[1]);
      return mapPage(await pageOf(limitIn(call.query), read, ({ id }) => id), toBatch);
    },
  });

const cancelOf = (path: string, role: "batch" | "flow"): Route =>
  route("POST", `${path}/{id}/cancel`, {
    summary: `Cancel a ${role}: what waits ends, what runs is told`,
    role: "operator",
    tenants: "own",
    answer: object({ state: text }),
    handle: async (call) => {
      const { id, tenant } = await batchFor(call, role);
      const cancel = () => call.http.client.batches.cancel(id);
      return { state: await act(call, `${role}.cancel`, `${role} ${id}`, cancel, { tenant }) };
    },
  });

export const batchRoutes: readonly Route[] = [
  listOf("/batches", undefined),
  route("GET", "/batches/{id}", {
    summary: "One batch; its members are jobs by ?batch=",
    role: "viewer",
    tenants: "own",
    answer: shapes.batchRow,
    handle: async (call) => toBatch(await batchFor(call, undefined)),
  }),
  cancelOf("/batches", "batch"),
  listOf("/flows", "flow"),
  route("GET", "/flows/{id}", {
    summary: "One flow with its nodes",
    role: "viewer",
    tenants: "own",
    answer: shapes.flowDetail,
    handle: async (call) => {
      const flow = await batchFor(call, "flow");
      const nodes = await readNodes(call.http.view, flow.id);
      const path = criticalPath(nodes, call.http.clock.now());
      return {
        ...toBatch(flow),
        nodes: nodes.map((node) => ({ ...toBatch(node), onCriticalPath: path.has(node.id) })),
      };
    },
  }),
  route("GET", "/flows/{id}/nodes/{node}/why", {
    summary: "Why a node does not start",
    role: "viewer",
    tenants: "own",
    answer: shapes.why,
    handle: async (call) => {
      const flow = await batchFor(call, "flow");
      const { node = "" } = call.params;
      const isOfIt = (await readNodes(call.http.view, flow.id)).some(({ id }) => id === node);
      const why = isOfIt ? await readWhy<string>(call.http.view, "node", node) : undefined;
      if (why === undefined) throw notFound("such node");
      return call.tenant === undefined ? why : withoutOthers(why);
    },
  }),
  route("POST", "/flows/{id}/retry", {
    summary: "Run a flow again from a node on, or from every node that failed",
    role: "operator",
    tenants: "own",
    body: object({ from: optional(name) }),
    answer: object({ answer: oneOf("started", "running", "nothing"), nodes: number }),
    handle: async (call) => {
      const { id, tenant } = await batchFor(call, "flow");
      const { from } = call.body;
      const retry = () => call.http.client.flows.retry(id, from === undefined ? {} : { from });
      return act(call, "flow.retry", `flow ${id}`, retry, { tenant, detail: { ...call.body } });
    },
  }),
  cancelOf("/flows", "flow"),
];
