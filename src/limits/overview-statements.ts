// Tenants, queues and kinds at a glance: their limits, and what waits and runs. Pages are cut by name; counts have a bound.

import { type RowTime, type Session, timeOrNull } from "../db/session.js";
import {
  type CheckedLimits,
  limitsOfStored,
  type RateLimit,
  type StoredLimits,
  type StoredRate,
} from "./limit-settings.js";

/** How many: counted to a bound. */
export interface BoundedCount {
  readonly count: number;
  /** There may be more. */
  readonly more: boolean;
}

/** The limits of a tenant, a queue or a kind; null: none. */
export interface LimitOverview {
  readonly maxRunning: number | null;
  readonly rate: RateLimit | null;
  readonly pausedAt: Date | null;
  /** When the pause ends by itself. */
  readonly pausedUntil: Date | null;
}

/** A tenant that has settings, or jobs that are ready or running. */
export interface TenantOverview extends LimitOverview {
  readonly tenant: string;
  readonly weight: number;
  readonly running: BoundedCount;
  readonly ready: BoundedCount;
}

/** A queue that jobs, living workers or settings name. */
export interface QueueOverview extends LimitOverview {
  readonly queue: string;
  /** Living workers that serve it. */
  readonly workers: number;
  readonly running: BoundedCount;
  readonly ready: BoundedCount;
  readonly scheduled: BoundedCount;
  readonly blocked: BoundedCount;
}

/** A kind that has limits, or that a living worker handles. */
export interface KindOverview extends LimitOverview {
  readonly kind: string;
  /** What its definition limits; null: nothing. */
  readonly limits: CheckedLimits | null;
}

/** Which part of a list that is sorted by name. */
export interface NamePage {
  /** Only names behind this one: the last of the page before. */
  readonly after?: string;
  /** Page size, at most 200; default 50. */
  readonly limit?: number;
}

export const NAMES_MAX = 200;

const TENANTS = "select * from fairmill.tenants_v1($1, $2)";
const QUEUES = "select * from fairmill.queues_v1($1, $2)";
const KINDS = `select named.kind, g.set_max_running as max_running, g.paused_at, g.paused_until,
    case when g.rate_limit is not null then jsonb_build_object('limit', g.rate_limit, 'per_ms', g.rate_per_ms, 'how', g.rate_how, 'at', g.rate_at) end as rate,
    case when coalesce(r.kind, g.defined_max_running::text) is not null then jsonb_build_object('per', coalesce(r.per, 'kind'),
      'max_running', coalesce(r.max_running, g.defined_max_running), 'when_full', coalesce(r.when_full, 'wait'), 'rate',
      case when r.rate_limit is not null then jsonb_build_object('limit', r.rate_limit, 'per_ms', r.rate_per_ms, 'how', r.rate_how, 'at', r.rate_at) end) end as limits
  from (select name as kind from fairmill.limit_setting where scope = 'kind'
        union select kind from fairmill.key_limit
        union select unnest(kinds) collate "C" from fairmill.worker where state = 'alive' and lease_until > now()) named
  left join fairmill.limit_in_force g on g.scope = 'kind' and g.name = named.kind
  left join fairmill.key_limit r on r.kind = named.kind
  where named.kind > $1 collate "C" order by named.kind limit $2`;

interface LimitRow {
  max_running: number | null;
  rate: StoredRate | null;
  paused_at: RowTime | null;
  paused_until: RowTime | null;
}

type Counted<Name extends string> = { [N in Name]: number } & { [N in `${Name}_full`]: boolean };

export async function readTenants(db: Session, page: Required<NamePage>): Promise<TenantOverview[]> {
  type Row = LimitRow & Counted<"ready" | "running"> & { tenant: string; weight: number };
  const rows = await db.query<Row>(TENANTS, [page.after, page.limit]);
  return rows.map((row) => ({
    tenant: row.tenant,
    weight: row.weight,
    ...limitsOf(row),
    running: { count: row.running, more: row.running_full },
    ready: { count: row.ready, more: row.ready_full },
  }));
}

export async function readQueues(db: Session, page: Required<NamePage>): Promise<QueueOverview[]> {
  type Row = LimitRow & Counted<"ready" | "running" | "scheduled" | "blocked"> & { queue: string; workers: number };
  const rows = await db.query<Row>(QUEUES, [page.after, page.limit]);
  return rows.map((row) => ({
    queue: row.queue,
    ...limitsOf(row),
    workers: row.workers,
    running: { count: row.running, more: row.running_full },
    ready: { count: row.ready, more: row.ready_full },
    scheduled: { count: row.scheduled, more: row.scheduled_full },
    blocked: { count: row.blocked, more: row.blocked_full },
  }));
}

export async function readKinds(db: Session, page: Required<NamePage>): Promise<KindOverview[]> {
  const rows = await db.query<LimitRow & { kind: string; limits: StoredLimits | null }>(KINDS, [
    page.after,
    page.limit,
  ]);
  return rows.map((row) => ({ kind: row.kind, ...limitsOf(row), limits: row.limits && limitsOfStored(row.limits) }));
}

const limitsOf = ({ max_running, rate, paused_at, paused_until }: LimitRow): LimitOverview => ({
  maxRunning: max_running,
  // As it is given: what is read here can be set again.
  rate: rate && { limit: rate.limit, per: rate.per_ms, how: rate.how, at: rate.at },
  pausedAt: timeOrNull(paused_at),
  pausedUntil: timeOrNull(paused_until),
});
