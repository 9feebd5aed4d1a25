// The statements about batches: opening them, holding them open, cancelling, reading.

import type { Queryable } from "../base/queryable.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { jobsText, jobText, storeJobsIn } from "../core/enqueue/enqueue-statements.js";
import type { NewJob } from "../core/job/enqueue-options.js";
import type { Database } from "../db/database.js";
import { type Refusal, toError } from "../db/refusals.js";
import { qualify } from "../db/schema-name.js";
import { idOf, idOrNull, type RowId, type RowTime, type Session, timeOf, timeOrNull } from "../db/session.js";
import type { BatchCall, BatchState, Window } from "./batch.js";

/** A batch that is to be opened. */
export interface NewBatch {
  readonly name: string | undefined;
  readonly tenant: string;
  readonly parent: string | undefined;
  readonly callbacks: NewCallbacks;
  readonly holdMs?: number | undefined;
  readonly window?: Window | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface NewCallbacks {
  readonly success?: NewJob;
  readonly complete?: NewJob;
  readonly death?: NewJob;
}

export interface OpenedBatch {
  readonly id: string;
  readonly hold: string | null;
  /** The idempotency key was known: nothing was stored. */
  readonly isKnown: boolean;
}

/** A batch as it stands. */
export interface Batch {
  readonly id: string;
  /** A batch, a flow, or a node of one. */
  readonly role: "batch" | "flow" | "node";
  readonly name: string | null;
  readonly tenant: string;
  readonly state: BatchState;
  readonly parent: string | null;
  /** Members by what they came to, of a flow those of its nodes; `live`: those that have not ended, counted to 10,000. */
  readonly done: number;
  readonly dead: number;
  readonly cancelled: number;
  readonly live: number;
  /** Jobs that were ever added to it, by whomever: those that ended and those that are live. */
  readonly registered: number;
  /** When the newest of them was added; null: there is none. */
  readonly lastRegisteredAt: Date | null;
  /** Batches inside that failed, where that fails this one. */
  readonly failed: number;
  /** Holds that ran out: a process did not finish adding. */
  readonly lost: number;
  /** The jobs of callbacks that were enqueued. */
  readonly callbacks: {
    readonly success: string | null;
    readonly complete: string | null;
    readonly death: string | null;
  };
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly cancelRequestedAt: Date | null;
}

export interface BatchFilter {
  readonly role?: "batch" | "flow";
  readonly state?: BatchState;
  readonly tenant?: string;
  /** Only batches with a lower id: the last id of the page before. */
  readonly before?: string;
  /** Page size, at most 200; default 50. */
  readonly limit?: number;
}

const OPEN =
  "select id::text as id, hold::text as hold, refused::text as refused, stored::text as stored from fairmill.open_batch_v1($1, $2, '{}', true, $3)";
const HOLD = "select fairmill.hold_batch_v1($1, $2, $3)::text as hold";
const RELEASE = "select fairmill.release_batch_v1($1) as state";
const CANCEL = "select fairmill.cancel_batch_v1($1) as state";
const CANCEL_MEMBERS = 'select cancelled, is_more as "isMore" from fairmill.cancel_members_v1($1, 1000)';

export const LIVE_COUNTED_MAX = 10_000;
export const BATCH = `b.id, b.role, b.name, b.tenant, b.state, b.parent, c.done, c.dead, c.cancelled, c.live, c.done + c.dead + c.cancelled + c.live as registered, c.last_at as "lastRegisteredAt", b.failed, b.lost,
  json_build_object('success', b.success_job::text, 'complete', b.complete_job::text, 'death', b.death_job::text) as callbacks,
  b.created_at as "createdAt", b.started_at as "startedAt", b.ended_at as "endedAt", b.cancel_requested_at as "cancelRequestedAt"`;
/** Of a flow everything in it counts: its jobs are members of its nodes. */
export const COUNTS = `cross join lateral (
    select sum(n.done)::integer as done, sum(n.dead)::integer as dead, sum(n.cancelled)::integer as cancelled, least(sum(n.live), ${LIVE_COUNTED_MAX})::integer as live,
      max(n.last_at) as last_at
    from unnest(case when b.role = 'flow' then fairmill.batches_within_v1(array[b.id]) else array[b.id] end) as counted (id)
    cross join lateral (select x.done, x.dead, x.cancelled,
        (select count(*) from (select from fairmill.job j where j.batch = x.id limit ${LIVE_COUNTED_MAX}) live) as live,
        greatest(x.registered_at, (select j.created_at from fairmill.job j where j.batch = x.id order by j.id desc limit 1)) as last_at
      from fairmill.batch x where x.id = counted.id offset 0) n) c`;
const READ = `select ${BATCH} from fairmill.batch b ${COUNTS} where b.id = $1`;
/** Cut first, then counted. */
const LIST = `select ${BATCH} from (select * from fairmill.batch x where x.role <> 'node' and ($1::text is null or x.role = $1) and ($2::text is null or x.state = $2)
  and ($3::text is null or x.tenant = $3) and ($4::bigint is null or x.id < $4) order by x.id desc limit $5) b ${COUNTS} order by b.id desc`;

const ENDS = 'select id::text as id, ended_at is not null as "isOver" from fairmill.batch where id = any ($1)';
const STABLE = `select b.id::text as batch, b.done + b.dead + b.cancelled as registered, b.registered_at as "lastRegisteredAt"
  from fairmill.batch b where b.id = any ($1) order by b.id`;

const CALLER = `select id::text as batch, 'success' as event from fairmill.batch where success_job = $1
  union all select id::text, 'complete' from fairmill.batch where complete_job = $1
  union all select id::text, 'death' from fairmill.batch where death_job = $1 limit 1`;

/** Jobs that go into the statement that opens their batch. */
const FIRST_JOBS_MAX = 5_000;

export const callbacksText = (callbacks: NewCallbacks): string =>
  `{${Object.entries(callbacks)
    .map(([event, job]) => `"${event}":${jobText(job as NewJob)}`)
    .join(",")}}`;

function specText({ name, tenant, parent, callbacks, holdMs, window, idempotencyKey }: NewBatch): string {
  const plain = JSON.stringify({
    name,
    tenant,
    parent,
    hold_ms: holdMs,
    window_ms: window?.windowMs,
    max_wait_ms: window?.maxWaitMs,
    poll_ms: window?.pollMs,
    idempotency_key: idempotencyKey,
  });
  return Object.keys(callbacks).length === 0 ? plain : `${plain.slice(0, -1)},"callbacks":${callbacksText(callbacks)}}`;
}

interface OpenRow {
  readonly id: string | null;
  readonly hold: string | null;
  readonly refused: string | null;
  /** As text; null: the idempotency key was known. */
  readonly stored: string | null;
}

function toOpened(row: OpenRow): OpenedBatch {
  if (row.refused !== null) throw toError(JSON.parse(row.refused) as Refusal);
  return { id: row.id!, hold: row.hold, isKnown: row.stored === null };
}

/** Opens a batch with its first members, all or none. */
export async function openBatch(
  context: ClientContext,
  batch: NewBatch,
  jobs: readonly NewJob[],
): Promise<OpenedBatch> {
  const { schema, isAlone } = context;
  if (!isAlone || jobs.length > FIRST_JOBS_MAX) return context.atomically((tx) => openBatchIn(tx, schema, batch, jobs));
  const [row] = await context.query<OpenRow>(OPEN, [specText(batch), jobsText(jobs), true]);
  return toOpened(row!);
}

/** In a transaction that goes on behind it: the batch is there when that commits. */
async function openBatchIn(
  tx: Queryable,
  schema: string,
  batch: NewBatch,
  jobs: readonly NewJob[],
): Promise<OpenedBatch> {
  const first = jobs.slice(0, FIRST_JOBS_MAX);
  const { rows } = await tx.query(qualify(OPEN, schema), [specText(batch), jobsText(first), false]);
  const opened = toOpened(rows[0] as OpenRow);
  if (opened.isKnown) return opened;
  const rest = jobs.slice(FIRST_JOBS_MAX).map((job) => ({ ...job, batch: opened.id }));
  await storeJobsIn(tx, schema, rest);
  return opened;
}

/** Holds a batch open, or holds it for longer; undefined: it is over. */
export async function holdBatch(db: Session, id: string, holdMs: number, hold?: string): Promise<string | undefined> {
  const [row] = await db.query<{ hold: string | null }>(HOLD, [id, holdMs, hold ?? null]);
  return row!.hold ?? undefined;
}

/** Ends a hold; undefined: it had run out. */
export async function releaseBatch(db: Session, hold: string): Promise<BatchState | undefined> {
  const [row] = await db.query<{ state: BatchState | null }>(RELEASE, [hold]);
  return row!.state ?? undefined;
}

/** The batch's state after it was asked to end; undefined: there is none. */
export async function cancelBatch(db: Session, id: string): Promise<BatchState | undefined> {
  const [row] = await db.query<{ state: BatchState | null }>(CANCEL, [id]);
  return row!.state ?? undefined;
}

export async function cancelMembers(db: Session, id: string): Promise<{ cancelled: number; isMore: boolean }> {
  const [row] = await db.query<{ cancelled: number; isMore: boolean }>(CANCEL_MEMBERS, [id]);
  return row!;
}

/** The batch whose callback this job is; undefined: it is none. */
export async function readCaller(db: Database, jobId: string): Promise<BatchCall | undefined> {
  const [row] = await db.query<BatchCall>(CALLER, [jobId]);
  return row;
}

type Times = "lastRegisteredAt" | "startedAt" | "endedAt" | "cancelRequestedAt";

/** A batch as a session's row has it. */
export type BatchRow = Omit<Batch, "id" | "parent" | "createdAt" | Times> & { [Name in Times]: RowTime | null } & {
  id: RowId;
  parent: RowId | null;
  createdAt: RowTime;
};

export const batchOf = (row: BatchRow): Batch => ({
  ...row,
  id: idOf(row.id),
  parent: idOrNull(row.parent),
  lastRegisteredAt: timeOrNull(row.lastRegisteredAt),
  createdAt: timeOf(row.createdAt),
  startedAt: timeOrNull(row.startedAt),
  endedAt: timeOrNull(row.endedAt),
  cancelRequestedAt: timeOrNull(row.cancelRequestedAt),
});

export async function readBatch(db: Session, id: string): Promise<Batch | undefined> {
  const [row] = await db.query<BatchRow>(READ, [id]);
  return row && batchOf(row);
}

/** Which of these batches exist, and whether each is over. */
export async function readBatchEnds(db: Session, ids: readonly string[]): Promise<Map<string, { isOver: boolean }>> {
  const rows = await db.query<{ id: string; isOver: boolean }>(ENDS, [ids]);
  return new Map(rows.map(({ id, isOver }) => [id, { isOver }]));
}

/** How many jobs were registered in batches that are over, and when the last one was. */
export interface Stable {
  readonly batch: string;
  readonly registered: number;
  readonly lastRegisteredAt: Date | null;
}

export function readStable(db: Database, ids: readonly string[]): Promise<Stable[]> {
  return db.query<Stable>(STABLE, [ids]);
}

export async function readBatches(db: Session, filter: BatchFilter & { limit: number }): Promise<Batch[]> {
  const { role, state, tenant, before, limit } = filter;
  const values = [role ?? null, state ?? null, tenant ?? null, before ?? null, limit];
  return (await db.query<BatchRow>(LIST, values)).map(batchOf);
}
