// Pools, their children and what was decided about them, in the shapes of the API.
import type { Session } from "../db/session.js";
import { reasonOf } from "../metrics/backlog.js";
import { requestInvalid } from "./problem.js";
import type { ScalingReader } from "./readers.js";
import {
  boundIn,
  type DecisionView,
  type PoolChild,
  type PoolView,
  readDecisionPage,
  readDesired,
  readPools,
} from "./rooms.js";

export const scalingReader = (view: Session): ScalingReader => ({
  decisions: async ({ sinceMs, untilMs }, { pool, cursor, limit }) => {
    if (cursor !== undefined && !/^\d{1,18}$/.test(cursor))
      throw requestInvalid([{ path: "cursor", message: "is not what a page before this one answered" }]);
    const rows = await readDecisionPage(view, sinceMs, untilMs, pool, cursor, limit + 1);
    const items = rows.slice(0, limit);
    return { items: items.map(decisionOf), next: rows.length > limit ? items.at(-1)!.id : null };
  },
  desired: (pool) => readDesired(view, pool),
  pools: async () => (await readPools(view)).map(poolOf),
});

function decisionOf({ id, at, pool, action, current, wanted, target, reason, inputs }: DecisionView) {
  const { heldBack = {}, memory, ...plain } = inputs;
  return {
    ...{ id, at, pool, actual: current, wanted, done: target, reason },
    cappedBy: boundIn(reason),
    suppressed: action === "suppressed",
    inputs: { ...plain, ...(memory && { memoryPerChild: memory.perChild, memoryMax: memory.max }) },
    leftOut: Object.entries(heldBack)
      .filter(([, count]) => count > 0)
      .map(([word, count]) => ({ reason: reasonOf(word), count })),
  };
}

const LIVING: readonly PoolChild["state"][] = ["idle", "ready", "working"];

function poolOf({ leader, children, worker, ...row }: PoolView) {
  const staying = children.filter(({ state, draining }) => LIVING.includes(state) && !draining);
  return {
    ...row,
    policy: row.policy ?? "utilisation",
    supervisor: row.supervisor ?? "",
    actual: staying.length,
    ready: staying.filter(({ state }) => state !== "idle").length,
    heldBy: leader,
    children: children.map((child) => ({
      worker,
      pid: child.pid,
      state: child.state,
      draining: child.draining,
      since: new Date(child.changedAt).toISOString(),
      exit: child.reason,
      restarts: child.failures,
      rssBytes: child.memoryBytes,
      cpu: child.cpu,
    })),
  };
}
