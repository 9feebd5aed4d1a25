// The statements about flows: starting them, reading their nodes and what these returned, running them again.

import { jobsText } from "../core/enqueue/enqueue-statements.js";
import type { NewJob } from "../core/job/enqueue-options.js";
import type { Database } from "../db/database.js";
import { type Refusal, toError } from "../db/refusals.js";
import { idOrNull, type RowId, type Session } from "../db/session.js";
import type { BatchState } from "./batch.js";
import {
  BATCH,
  type Batch,
  type BatchRow,
  batchOf,
  COUNTS,
  callbacksText,
  type NewCallbacks,
} from "./batch-statements.js";

/** A node that is to be made. Positions are those of the flow's list. */
export interface NewNode {
  readonly name: string;
  readonly after: readonly number[];
  readonly inside: number | undefined;
  readonly when: string;
  readonly onFailure: string;
  readonly jobs: readonly NewJob[];
}

export interface NewFlow {
  readonly name: string;
  readonly tenant: string;
  readonly parent: string | undefined;
  readonly callbacks: NewCallbacks;
  readonly nodes: readonly NewNode[];
  readonly idempotencyKey?: string | undefined;
}

/** A node of a flow as it stands. */
export interface FlowNodeInfo extends Batch {
  readonly name: string;
  readonly when: "succeeded" | "settled" | "failed";
  readonly onFailure: "fail" | "skip" | "continue";
  /** Ids of the nodes before it. */
  readonly after: readonly string[];
  /** The first job that it enqueued; null: none yet. */
  readonly job: string | null;
}

export type RetryFlowAnswer =
  | { readonly answer: "started"; readonly nodes: number }
  | { readonly answer: "running" | "nothing" | "not_found"; readonly nodes: 0 };

/** What a node returned: the result of its job, as it is stored. */
export interface NodeResult {
  readonly job: string;
  readonly kind: string;
  readonly tenant: string;
  readonly state: BatchState;
  readonly result: unknown;
}

const CREATE = "select id::text as id, refused::text as refused from fairmill.start_flow_v1($1)";
const RETRY = "select answer, nodes from fairmill.retry_flow_v1($1, $2)";
const NODES = `select ${BATCH}, b.start_when as "when", b.on_failure as "onFailure", b.own_job as job,
    array(select e.before::text from fairmill.batch_edge e where e.after = b.id order by e.before) as after
  from fairmill.batch b ${COUNTS} where b.id = any (fairmill.batches_within_v1(array[$1::bigint])) and b.role = 'node' order by b.id`;
/** The node beside the one whose job asks, or beside one around it: the nearest of that name. */
const NEIGHBOUR = `with recursive around as (
    select b.id, b.parent, 0 as level from fairmill.batch b where b.id = $1
    union all select p.id, p.parent, a.level + 1 from around a join fairmill.batch p on p.id = a.parent)
  select n.id, n.own_job, n.state from around a cross join lateral (
    select x.id, x.own_job, x.state from fairmill.batch x where x.parent = a.parent and x.role = 'node' and x.name = $2) n order by a.level limit 1`;
const RESULT = `select h.id as job, h.kind, h.tenant, n.state, h.result from (${NEIGHBOUR}) n
  left join lateral (select x.id, x.kind, x.tenant, x.result from fairmill.job_history x where x.id = n.own_job limit 1) h on true`;
const RESULTS = `select h.id as job, h.kind, h.tenant, n.state, h.result from (${NEIGHBOUR}) n
  join fairmill.job_history h on h.batch = n.id and h.state = 'done' and h.id >= n.own_job order by h.id limit $3`;

export function flowText({ name, tenant, parent, callbacks, nodes, idempotencyKey }: NewFlow): string {
  const head = JSON.stringify({ name, tenant, parent, idempotency_key: idempotencyKey }).slice(0, -1);
  const nodeTexts = nodes.map(({ jobs, onFailure, ...node }) => {
    const plain = JSON.stringify({ ...node, on_failure: onFailure }).slice(0, -1);
    return jobs.length === 0 ? `${plain}}` : `${plain},"jobs":${jobsText(jobs)}}`;
  });
  return `${head},"callbacks":${callbacksText(callbacks)},"nodes":[${nodeTexts.join(",")}]}`;
}

function toId(row: { id: string | null; refused: string | null }): string {
  if (row.refused !== null) throw toError(JSON.parse(row.refused) as Refusal);
  return row.id!;
}

/** Makes a flow with all its nodes and starts those without dependencies, in one transaction. */
export async function createFlow(db: Session, flow: NewFlow): Promise<string> {
  const [row] = await db.query<{ id: string | null; refused: string | null }>(CREATE, [flowText(flow)]);
  return toId(row!);
}

export async function retryFlow(db: Session, id: string, from: string | undefined): Promise<RetryFlowAnswer> {
  const [row] = await db.query<RetryFlowAnswer>(RETRY, [id, from ?? null]);
  return row!;
}

export async function readNodes(db: Session, flow: string): Promise<FlowNodeInfo[]> {
  type Row = BatchRow & Pick<FlowNodeInfo, "name" | "when" | "onFailure" | "after"> & { job: RowId | null };
  const rows = await db.query<Row>(NODES, [flow]);
  return rows.map(({ job, ...row }) => ({ ...row, ...batchOf(row), name: row.name, job: idOrNull(job) }));
}

/** What the first job of a node came to, seen from the node `batch`; undefined: there is no such node. */
export async function readNodeResult(db: Database, batch: string, name: string): Promise<NodeResult | undefined> {
  const [row] = await db.query<NodeResult>(RESULT, [batch, name]);
  return row;
}

/** What all its jobs returned, oldest first. */
export const readNodeResults = (db: Database, batch: string, name: string, limit: number): Promise<NodeResult[]> =>
  db.query<NodeResult>(RESULTS, [batch, name, limit]);
