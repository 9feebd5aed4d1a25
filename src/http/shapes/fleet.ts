// Workers, batches and flows.
import { boolean, id, list, named, number, object, oneOf, record, text, time } from "../schema.js";
import { count, maybe } from "./common.js";
import { jobRow } from "./jobs.js";

const workerMembers = {
  id: text,
  state: oneOf("alive", "lost", "stopped"),
  host: maybe(text),
  pid: maybe(number),
  version: maybe(text),
  queues: list(text),
  kinds: maybe(list(text)),
  concurrency: number,
  running: number,
  listening: boolean,
  startedAt: time,
  beatAt: time,
  beatAgeMs: number,
  leaseUntil: time,
  endedAt: maybe(time),
  stats: record,
  pool: maybe(text),
};
export const workerRow = named("WorkerRow", object(workerMembers));
export const workerDetail = named("WorkerDetail", object({ ...workerMembers, jobs: list(jobRow) }));

const batchMembers = {
  id,
  role: oneOf("batch", "flow", "node"),
  name: maybe(text),
  tenant: text,
  state: text,
  parent: maybe(id),
  done: number,
  dead: number,
  cancelled: number,
  live: count,
  registered: number,
  lastRegisteredAt: maybe(time),
  failed: number,
  lost: number,
  callbacks: object({ success: maybe(id), complete: maybe(id), death: maybe(id) }),
  createdAt: time,
  startedAt: maybe(time),
  endedAt: maybe(time),
  cancelRequestedAt: maybe(time),
};
export const batchRow = named("BatchRow", object(batchMembers));
const flowNode = named(
  "FlowNode",
  object({ ...batchMembers, when: text, onFailure: text, after: list(id), job: maybe(id), onCriticalPath: boolean }),
);
export const flowDetail = named("FlowDetail", object({ ...batchMembers, nodes: list(flowNode) }));
