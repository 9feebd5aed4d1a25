// One look at the whole fleet: what waits, what runs, how long it takes, what goes wrong. Read by metrics, alerts and `fairmill top`. Every part is
// bounded: nothing counts a large table, and what is "at least" says so.
import type { Database } from "../db/database.js";

export interface Figures {
  readonly at: Date;
  readonly queues: readonly QueueFigures[];
  /** Of the last five minutes. */
  readonly kinds: readonly KindFigures[];
  readonly tenants: readonly TenantFigures[];
  /** Of each kind that runs, the job that has run longest. */
  readonly longest: readonly { readonly kind: string; readonly job: string; readonly ms: number }[];
  /** Figures that applications reported in the last five minutes, by name and label. */
  readonly reported: readonly ReportedFigures[];
  readonly databaseBytes: number;
  readonly workers: readonly WorkerFigures[];
  readonly health: readonly HealthFigures[];
  /** Those that should have ticked, and how long ago. */
  readonly overdue: readonly { readonly schedule: string; readonly ms: number }[];
  readonly outbox: { readonly unknown: number; readonly unknownMore: boolean; readonly oldestMs: number };
  /** Of budgets with a soft threshold: what part of it is spent, most first. */
  readonly budgets: readonly { readonly budget: string; readonly ratio: number; readonly spent: string }[];
  readonly oldestTransactionMs: number;
  /** Full at 1. */
  readonly notificationQueue: number;
  /** Sums of the last five minutes. */
  readonly sums: {
    readonly processed: number;
    readonly failed: number;
    readonly dead: number;
    readonly throttled: number;
    readonly recovered: number;
    readonly leasesLost: number;
    readonly contention: number;
  };
}

export interface QueueFigures {
  readonly queue: string;
  readonly ready: number;
  readonly readyMore: boolean;
  readonly running: number;
  readonly scheduled: number;
  readonly scheduledMore: boolean;
  readonly blocked: number;
  readonly blockedMore: boolean;
  readonly workers: number;
  readonly isPaused: boolean;
  /** How long the oldest ready job has waited, as the last worker that looked saw it; null: none has. */
  readonly oldestMs: number | null;
}

export interface KindFigures {
  readonly kind: string;
  readonly runs: number;
  readonly failed: number;
  readonly dead: number;
  readonly runMs: number;
  readonly waits: number;
  readonly waitMs: number;
}

export interface TenantFigures {
  readonly tenant: string;
  readonly claimed: number;
  readonly runs: number;
  readonly failed: number;
  readonly runMs: number;
  readonly waits: number;
  readonly waitMs: number;
}

export interface ReportedFigures {
  readonly name: string;
  readonly label: string;
  readonly count: number;
  readonly sum: number;
  readonly max: number;
  /** The sum of the latest sample by its count: what a gauge shows. */
  readonly last: number;
}

export interface WorkerFigures {
  readonly worker: string;
  readonly version: string | null;
  readonly capacity: number;
  readonly running: number;
  readonly processed: number;
  readonly uptimeMs: number;
  readonly memoryBytes: number | null;
  /** Of one core; null: not known yet. */
  readonly cpu: number | null;
}

export interface HealthFigures {
  readonly worker: string;
  readonly mode: "tick" | "interval";
  readonly ticks: number;
  readonly avgTickMs: number;
  readonly contention: number;
  readonly jobsPerTick: number;
  readonly queueDepth: number | null;
}

export const WINDOW_MS = 5 * 60_000;
const ROWS_MAX = 1_000;

const RECENT = "from fairmill.worker_tick_metrics m where m.tick_started_at > now() - interval '5 minutes'";

/** Of the members of a JSON object in each recent row, the sums by name. `""` is what a row did not name. */
const sumsOf = (
  column: string,
  sums: readonly (readonly [member: string, as: string])[],
) => `select e.key as name, ${sums
  .map(([member, as]) => `coalesce(sum((e.value ->> '${member}')::float8), 0) as "${as}"`)
  .join(", ")}
  from (select m.${column} as entries ${RECENT} and m.${column} <> '{}' order by m.tick_started_at desc limit 20000) r
  cross join lateral jsonb_each(r.entries) e where e.key <> '' group by e.key order by 2 desc limit ${ROWS_MAX}`;

const STATEMENTS = {
  at: "select extract(epoch from clock_timestamp())::float8 * 1000 as at_ms, pg_database_size(current_database())::float8 as bytes, pg_notification_queue_usage()::float8 as usage",
  queues: `select q.queue, q.ready, q.ready_full, q.running, q.scheduled, q.scheduled_full, q.blocked, q.blocked_full, q.workers, q.paused_at is not null as paused
    from fairmill.queues_v1('', ${ROWS_MAX}) q`,
  oldest: `select distinct on (e.key) e.key as queue, (e.value ->> 'oldest_ms')::float8 as ms
    from (select m.queues, m.tick_started_at ${RECENT} and m.queues is not null order by m.tick_started_at desc limit 200) r
    cross join lateral jsonb_each(r.queues) e order by e.key, r.tick_started_at desc limit ${ROWS_MAX}`,
  kinds: sumsOf("kinds", [
    ["runs", "runs"],
    ["failed", "failed"],
    ["dead", "dead"],
    ["run_ms", "runMs"],
    ["waits", "waits"],
    ["wait_ms", "waitMs"],
  ]),
  tenants: sumsOf("tenants", [
    ["claimed", "claimed"],
    ["runs", "runs"],
    ["failed", "failed"],
    ["run_ms", "runMs"],
    ["waits", "waits"],
    ["wait_ms", "waitMs"],
  ]),
  longest: `select distinct on (j.kind) j.kind, j.id::text as job, extract(epoch from now() - j.started_at)::float8 * 1000 as ms
    from fairmill.claimed_jobs(jobs_max => 10000) c join fairmill.job j on j.id = c.id
    where j.state = 'running' order by j.kind, j.started_at limit ${ROWS_MAX}`,
  reported: `select s.name, s.label, sum(s.count)::float8 as count, sum(s.sum) as sum, max(s.max) as max,
      (array_agg(s.sum / s.count order by s.at desc, s.id desc))[1] as last
    from (select * from fairmill.metric_sample x where x.at > now() - interval '5 minutes' order by x.at desc limit 20000) s
    group by s.name, s.label order by 1, 2 limit ${ROWS_MAX}`,
  storage: `select distinct on (s.label) s.label, s.sum / s.count as last from (
      select * from fairmill.metric_sample x where x.name = 'storage_size' order by x.at desc limit 1000) s order by s.label, s.at desc limit 100`,
  workers: `select w.id as worker, w.version, w.concurrency as capacity, coalesce((w.stats ->> 'running')::integer, 0) as running,
      coalesce((w.stats ->> 'done')::float8, 0) + coalesce((w.stats ->> 'failed')::float8, 0) as processed,
      extract(epoch from now() - w.started_at)::float8 * 1000 as "uptimeMs", (w.stats ->> 'rssBytes')::float8 as "memoryBytes", (w.stats ->> 'cpu')::float8 as cpu
    from fairmill.worker w where w.state = 'alive' and w.lease_until > now() order by w.id limit ${ROWS_MAX}`,
  health: `select h.worker_id as worker, h.mode, h.tick_count::integer as ticks, h.avg_tick_duration_ms::float8 as "avgTickMs",
      h.total_lock_contentions::float8 as contention, h.avg_jobs_per_tick::float8 as "jobsPerTick", h.queue_depth as "queueDepth"
    from fairmill.worker_health_summary h order by h.worker_id limit ${ROWS_MAX}`,
  // By its next tick alone: one whose ticking fails is put off again and again, and is overdue all the same.
  overdue: `select s.name as schedule, extract(epoch from now() - s.next_at)::float8 * 1000 as ms
    from fairmill.schedule s where s.paused_at is null and s.next_at < now() order by s.next_at limit ${ROWS_MAX}`,
  budgets: `select b.tenant || ' ' || b.per || rtrim(' ' || b.provider) || rtrim(' ' || b.kind) as budget, (b.spent / b.soft)::float8 as ratio,
      b.spent || ' of ' || b.soft || ' ' || b.currency as spent
    from fairmill.budget b where b.soft is not null and b.period_until > now() order by 2 desc limit ${ROWS_MAX}`,
  outbox: `select (select count(*)::integer from (select from fairmill.outbox o where o.status = 'unknown' limit 1000) unknown) as unknown,
    coalesce((select max(extract(epoch from now() - o.created_at)::float8 * 1000) from (
      (select x.created_at from fairmill.outbox x where x.status = 'pending' order by x.id limit 1)
      union all (select x.created_at from fairmill.outbox x where x.status = 'sending' order by x.id limit 1)) o), 0) as "oldestMs"`,
  transaction: `select coalesce(max(extract(epoch from now() - a.xact_start)::float8 * 1000), 0) as ms from pg_stat_activity a
    where a.backend_xmin is not null and a.pid <> pg_backend_pid() and a.datname = current_database() and a.backend_type = 'client backend'`,
  sums: `select coalesce(sum(m.jobs_processed), 0)::float8 as processed, coalesce(sum(m.jobs_failed), 0)::float8 as failed,
      coalesce(sum(m.jobs_dead), 0)::float8 as dead, coalesce(sum(m.jobs_throttled), 0)::float8 as throttled,
      coalesce(sum(m.jobs_recovered), 0)::float8 as recovered, coalesce(sum(m.leases_lost), 0)::float8 as "leasesLost",
      coalesce(sum(m.lock_contention_count), 0)::float8 as contention ${RECENT}`,
} as const;

/** All in one statement, under one snapshot: a fleet that sleeps sends few. */
const TOGETHER = `select ${Object.entries(STATEMENTS)
  .map(([name, text]) => `(select coalesce(json_agg(x), '[]') from (${text}) x)::text as "${name}"`)
  .join(",\n  ")}`;

export async function readFigures(db: Database): Promise<Figures> {
  const [row] = await db.query<Record<keyof typeof STATEMENTS, string>>(TOGETHER);
  const all = <Row>(name: keyof typeof STATEMENTS) => JSON.parse(row![name]) as Row[];
  const one = <Row>(name: keyof typeof STATEMENTS) => all<Row>(name)[0]!;
  const { at_ms, bytes, usage } = one<{ at_ms: number; bytes: number; usage: number }>("at");
  const oldest = new Map(all<{ queue: string; ms: number }>("oldest").map(({ queue, ms }) => [queue, ms]));
  const outbox = one<{ unknown: number; oldestMs: number }>("outbox");
  const storage = all<{ label: string; last: number }>("storage").map(
    ({ label, last }): ReportedFigures => ({ name: "storage_size", label, count: 1, sum: last, max: last, last }),
  );
  return {
    at: new Date(at_ms),
    queues: all<QueueRow>("queues").map((row) => queueFigures(row, oldest.get(row.queue) ?? null)),
    kinds: all<{ name: string } & KindFigures>("kinds").map(({ name, ...sums }) => ({ ...sums, kind: name })),
    tenants: all<{ name: string } & TenantFigures>("tenants").map(({ name, ...sums }) => ({ ...sums, tenant: name })),
    longest: all("longest"),
    reported: [...all<ReportedFigures>("reported").filter(({ name }) => name !== "storage_size"), ...storage],
    databaseBytes: bytes,
    workers: all("workers"),
    health: all("health"),
    overdue: all("overdue"),
    budgets: all("budgets"),
    outbox: { ...outbox, unknownMore: outbox.unknown >= 1_000 },
    oldestTransactionMs: one<{ ms: number }>("transaction").ms,
    notificationQueue: usage,
    sums: one("sums"),
  };
}

interface QueueRow {
  readonly queue: string;
  readonly ready: number;
  readonly ready_full: boolean;
  readonly running: number;
  readonly scheduled: number;
  readonly scheduled_full: boolean;
  readonly blocked: number;
  readonly blocked_full: boolean;
  readonly workers: number;
  readonly paused: boolean;
}

const queueFigures = (row: QueueRow, oldestMs: number | null): QueueFigures => ({
  queue: row.queue,
  ready: row.ready,
  readyMore: row.ready_full,
  running: row.running,
  scheduled: row.scheduled,
  scheduledMore: row.scheduled_full,
  blocked: row.blocked,
  blockedMore: row.blocked_full,
  workers: row.workers,
  isPaused: row.paused,
  oldestMs,
});
