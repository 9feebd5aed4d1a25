// The statements about pools: what supervisors report, lead and decide, what waits, and what people ask for.
import type { Database } from "../db/database.js";
import type { ChildFacts } from "./child.js";
import type { ChildState } from "./life-cycle.js";
import type { ScaleDecision, ScaleInputs } from "./scale/brain.js";

export interface SupervisorReport {
  readonly id: string;
  readonly worker: string | null;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly health: object;
  readonly startedAtMs: number;
  readonly everyMs: number;
}

/** What desired_workers_v1 needs when no supervisor lives. */
export interface StoredPoolSettings {
  readonly min: number;
  readonly max: number;
  readonly policy: "utilisation" | "targetWait";
  readonly capacity: number;
  readonly targetWaitMs: number;
  readonly meanRunMs: number | undefined;
  readonly queues: readonly string[];
  readonly kinds: readonly string[];
  /** Where pods are scaled: children of each. */
  readonly childrenPerPod: number | undefined;
}

/** Returns how many supervisors of the pool live. */
export async function reportPool(
  db: Database,
  pool: string,
  supervisor: SupervisorReport,
  children: readonly ChildFacts[],
  settings: StoredPoolSettings,
): Promise<number> {
  const [row] = await db.query<{ hosts: number }>("select fairmill.report_pool_v1($1, $2, $3, $4) as hosts", [
    pool,
    JSON.stringify({
      id: supervisor.id,
      worker: supervisor.worker,
      host: supervisor.host,
      pid: supervisor.pid,
      version: supervisor.version,
      health: supervisor.health,
      started_at_ms: supervisor.startedAtMs,
      report_every_ms: supervisor.everyMs,
    }),
    JSON.stringify(children.map(childRow)),
    JSON.stringify({
      min: settings.min,
      max: settings.max,
      policy: settings.policy,
      capacity: settings.capacity,
      target_wait_ms: settings.targetWaitMs,
      mean_run_ms: settings.meanRunMs,
      queues: settings.queues,
      kinds: settings.kinds,
      children_per_pod: settings.childrenPerPod,
    }),
  ]);
  return row!.hosts;
}

const childRow = (child: ChildFacts) => ({
  number: child.number,
  pid: child.pid,
  state: child.state,
  draining: child.draining,
  reason: child.reason,
  failures: child.failures,
  running: child.running,
  jobs_processed: child.jobsProcessed,
  cpu: child.cpu,
  memory_bytes: child.memoryBytes,
  uptime_ms: child.uptimeMs,
  started_at_ms: child.startedAtMs,
});

export async function leavePool(db: Database, supervisor: string): Promise<void> {
  await db.query("select fairmill.leave_pool_v1($1)", [supervisor]);
}

export async function leadPool(db: Database, pool: string, supervisor: string, leaseMs: number): Promise<boolean> {
  const [row] = await db.query<{ leads: boolean }>(
    "select fairmill.lead_pool_v1($1, $2, $3 * interval '1 millisecond') as leads",
    [pool, supervisor, leaseMs],
  );
  return row!.leads;
}

/** `desired` is over all hosts. A decision that changes nothing, and that nothing stood against, is not recorded. */
export async function recordScale(
  db: Database,
  pool: string,
  supervisor: string,
  decision: ScaleDecision,
  inputs: ScaleInputs,
  desired: number,
  everyMs: number,
): Promise<void> {
  const { action, current, wanted, target, reason } = decision;
  const isTold = action !== "hold";
  await db.query("select fairmill.record_scale_v1($1, $2, $3)", [
    pool,
    supervisor,
    JSON.stringify({
      ...(isTold && { action, current, wanted, target, reason, inputs }),
      desired,
      decide_every_ms: everyMs,
    }),
  ]);
}

export interface Fleet {
  /** By what keeps them; "runnable": nothing does. */
  readonly backlog: Readonly<Record<string, number>>;
  /** What nothing keeps, by queue. */
  readonly runnable: Readonly<Record<string, number>>;
  /** Jobs that living workers have claimed since they began, together; and how many of these were here at the last look. */
  readonly claimed: number;
}

/** What waits in these queues for these kinds, and how much the fleet has claimed. */
export async function readFleet(db: Database, queues: readonly string[], kinds: readonly string[]): Promise<Fleet> {
  const [backlog, claims] = await db.pipeline([
    ["select queue, reason, jobs from fairmill.backlog_v1($1, $2)", [queues, kinds]],
    [
      `select coalesce(sum((w.stats ->> 'claimed')::bigint), 0)::float8 as claimed from fairmill.worker w
       where w.state = 'alive' and w.lease_until > clock_timestamp() and w.queues && $1`,
      [queues],
    ],
  ]);
  if (backlog!.status === "rejected") throw backlog!.reason;
  if (claims!.status === "rejected") throw claims!.reason;
  const rows = backlog!.value as { queue: string; reason: string; jobs: number }[];
  const sums: Record<string, number> = {};
  for (const { reason, jobs } of rows) sums[reason] = (sums[reason] ?? 0) + jobs;
  return {
    backlog: sums,
    runnable: Object.fromEntries(
      rows.filter(({ reason }) => reason === "runnable").map(({ queue, jobs }) => [queue, jobs]),
    ),
    claimed: (claims!.value as { claimed: number }[])[0]!.claimed,
  };
}

/** The state of a worker's row, for the supervisor whose worker it is: null when it is gone. */
export async function readBeat(db: Database, worker: string): Promise<{ state: string; silentMs: number } | null> {
  const [row] = await db.query<{ state: string; silent: number }>(
    `select state, extract(epoch from clock_timestamp() - beat_at)::float8 * 1000 as silent
     from fairmill.worker where id = $1`,
    [worker],
  );
  return row === undefined ? null : { state: row.state, silentMs: row.silent };
}

export interface WorkerRow {
  readonly id: string;
  readonly pool: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly state: string;
  readonly queues: readonly string[];
  readonly running: number;
  readonly claimed: number;
  readonly memoryBytes: number | null;
  readonly startedAt: Date;
  readonly beatAt: Date;
  readonly children: readonly ChildRow[];
}

export interface ChildRow {
  readonly number: number;
  readonly pid: number | null;
  readonly state: ChildState;
  readonly draining: boolean;
  readonly reason: string | null;
  readonly failures: number;
  readonly running: number;
  readonly jobsProcessed: number;
  readonly cpu: number;
  readonly memoryBytes: number;
  readonly uptimeMs: number;
}

/** Silent: its lease is over, and no upkeep has looked since. */
const WORKERS = `
  select w.id, s.pool, w.host, w.pid, case when w.state = 'alive' and w.lease_until < clock_timestamp() then 'silent' else w.state end as state, w.queues, coalesce((w.stats ->> 'running')::integer, 0) as running,
    coalesce((w.stats ->> 'claimed')::float8, 0) as claimed, (w.stats ->> 'rssBytes')::float8 as memory, w.started_at, w.beat_at,
    coalesce((select json_agg(json_build_object('number', c.number, 'pid', c.pid, 'state', c.state, 'draining', c.draining, 'reason', c.reason,
        'failures', c.failures, 'running', c.running, 'jobsProcessed', c.jobs_processed, 'cpu', c.cpu, 'memoryBytes', c.memory_bytes,
        'uptimeMs', extract(epoch from c.uptime) * 1000) order by c.number)
      from fairmill.child c where c.supervisor = s.id and ($2 or c.state <> 'terminated')), '[]') as children
  from fairmill.worker w left join fairmill.supervisor s on s.worker = w.id
  where w.state = 'alive' or $2
  order by w.started_at desc, w.id limit $1`;

/** Workers that live, newest first, each with the children of its supervisor; `all`: those that have ended, too. */
export async function readWorkers(db: Database, limit: number, all: boolean): Promise<WorkerRow[]> {
  const rows = await db.query<{
    id: string;
    pool: string | null;
    host: string | null;
    pid: number | null;
    state: string;
    queues: string[];
    running: number;
    claimed: number;
    memory: number | null;
    started_at: Date;
    beat_at: Date;
    children: ChildRow[];
  }>(WORKERS, [limit, all]);
  return rows.map(({ memory, started_at, beat_at, ...row }) => ({
    ...row,
    memoryBytes: memory,
    startedAt: started_at,
    beatAt: beat_at,
  }));
}

export interface StoredDecision {
  readonly action: "up" | "down" | "suppressed";
  readonly current: number;
  readonly wanted: number;
  readonly target: number;
  readonly reason: string;
  readonly at: Date;
  readonly lastAt: Date;
  readonly times: number;
}

/** The last decisions about a pool, newest first. */
export async function readDecisions(db: Database, pool: string, limit: number): Promise<StoredDecision[]> {
  const rows = await db.query<StoredDecision & { last_at: Date }>(
    `select action, current, wanted, target, reason, at, last_at, times from fairmill.scale_decision
     where pool = $1 order by id desc limit $2`,
    [pool, limit],
  );
  return rows.map(({ last_at, ...row }) => ({ ...row, lastAt: last_at }));
}

export interface PodUse {
  readonly host: string;
  readonly running: number;
  /** The part of its capacity that is busy, of the queue that is worst off. */
  readonly utilisation: number;
}

/** By host, what the living supervisors of a pool run. */
export async function readPodUse(db: Database, pool: string): Promise<PodUse[]> {
  return db.query<PodUse>(
    `select w.host, sum(coalesce((w.stats ->> 'running')::integer, 0))::integer as running,
       max(coalesce((w.stats ->> 'utilisation')::float8, 0)) as utilisation
     from fairmill.supervisor s join fairmill.worker w on w.id = s.worker
     where s.pool = $1 and w.state = 'alive' and w.lease_until > clock_timestamp() and w.host is not null group by w.host`,
    [pool],
  );
}

export interface Replicas {
  /** What was decided last; null: nothing, or too long ago. */
  readonly desired: number | null;
  /** Supervisors that live. */
  readonly living: number;
  /** The parts of their capacity that are busy, summed up: of the queue that is worst off in each. */
  readonly utilised: number;
}

export async function readReplicas(db: Database, pool: string): Promise<Replicas> {
  const [row] = await db.query<Replicas>(
    `select case when p.decided_at > clock_timestamp() - 3 * p.decide_every then p.desired end as desired, l.living, l.utilised
     from fairmill.pool p, lateral (
       select count(*)::integer as living, coalesce(sum((w.stats ->> 'utilisation')::float8), 0) as utilised
       from fairmill.supervisor s join fairmill.worker w on w.id = s.worker
       where s.pool = p.name and w.state = 'alive' and w.lease_until > clock_timestamp()) l
     where p.name = $1`,
    [pool],
  );
  return row ?? { desired: null, living: 0, utilised: 0 };
}
