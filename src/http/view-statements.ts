// The statements of views that no other room has: workers, gauges, channels, accounts, approvals, what the first page shows. Each looks at a bounded
// number of rows.
import type { Session } from "../db/session.js";

const WORKER = `w.id, w.state, w.host, w.pid, w.version, w.queues, w.kinds, w.concurrency, w.listening, w.started_at as "startedAt", w.beat_at as "beatAt",
  (extract(epoch from clock_timestamp() - w.beat_at) * 1000)::float8 as "beatAgeMs", w.lease_until as "leaseUntil", w.ended_at as "endedAt", w.stats,
  coalesce(r.running, 0)::integer as running, (select s.pool from fairmill.supervisor s where s.worker = w.id limit 1) as pool`;
const RUNNING = `left join (select c.worker, count(*) as running from fairmill.claimed_jobs(jobs_max => 10000) c group by c.worker) r on r.worker = w.id`;
/** Alive ones first, then by start, newest first; the id tells those of one moment apart. */
const WORKERS = `select ${WORKER}, extract(epoch from w.started_at)::text as at from fairmill.worker w ${RUNNING}
  where ($1::text is null or w.state = $1) and ($2::boolean is null or (w.state = 'alive', w.started_at, w.id) < ($2, to_timestamp($3::float8), $4))
  order by (w.state = 'alive') desc, w.started_at desc, w.id desc limit $5`;
const ONE_WORKER = `select ${WORKER} from fairmill.worker w ${RUNNING} where w.id = $1`;

export interface WorkerRow {
  readonly id: string;
  readonly state: string;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
}

export const readWorkers = (
  db: Session,
  state: string | undefined,
  before: { alive: boolean; at: string; id: string } | undefined,
  limit: number,
): Promise<(WorkerRow & { at: string })[]> =>
  db.query(WORKERS, [state ?? null, before?.alive ?? null, before?.at ?? null, before?.id ?? null, limit]);

export const readWorker = async (db: Session, id: string): Promise<WorkerRow | undefined> =>
  (await db.query<WorkerRow>(ONE_WORKER, [id]))[0];

const GAUGES = `select g.scope, g.name, g.max_running as "maxRunning", g.paused_at as "pausedAt", g.paused_until as "pausedUntil",
    case when g.rate_limit is not null then jsonb_build_object('limit', g.rate_limit, 'perMs', g.rate_per_ms, 'how', g.rate_how, 'at', g.rate_at) end as rate,
    case when g.max_running is not null then coalesce(run.count, 0) end as running,
    case when room.room is not null then g.rate_limit - room.room end as spent, case when room.room <= 0 then room.open_at end as "nextFreeAt"
  from fairmill.limit_in_force g
  left join fairmill.meter m on m.use = coalesce(g.rate_at, 'start') and m.scope = g.scope and m.name = g.name
  left join fairmill.meter capped on capped.use = 'start' and capped.scope = g.scope and capped.name = g.name
  left join lateral (select count(*)::integer as count from fairmill.job j where j.id = any (capped.running_ids) and j.state = 'running') run on true
  left join lateral fairmill.rate_room(m.spent_at, m.spent, g.rate_limit, g.rate_per_ms, g.rate_how, clock_timestamp()) room on g.rate_limit is not null
  where (g.max_running is not null or g.rate_limit is not null or g.paused_at is not null) and ($1::text is null or g.scope = $1)
    and ($2::text is null or (g.scope, g.name) > ($2, $3)) order by g.scope, g.name limit $4`;

export const readGauges = (
  db: Session,
  scope: string | undefined,
  after: { scope: string; name: string } | undefined,
  limit: number,
): Promise<{ scope: string; name: string }[]> =>
  db.query(GAUGES, [scope ?? null, after?.scope ?? null, after?.name ?? null, limit]);

const LOOKED = 10_000;
const CHANNELS = `with looked as materialized (
    select s.status, o.channel, o.created_at from unnest('{pending,sending,unknown,failed}'::text[]) as s (status)
    cross join lateral (select x.channel, x.created_at from fairmill.outbox x where x.status = s.status and ($1::text is null or x.tenant = $1) order by x.id limit ${LOOKED}) o)
  select channel, count(*) filter (where status in ('pending', 'sending'))::integer as open, count(*) filter (where status = 'unknown')::integer as unknown,
    count(*) filter (where status = 'failed')::integer as failed, min(created_at) filter (where status in ('pending', 'sending')) as "oldestOpenAt",
    (extract(epoch from clock_timestamp() - min(created_at) filter (where status in ('pending', 'sending'))) * 1000)::float8 as "lagMs",
    (select count(*) from looked) >= ${LOOKED} as more
  from looked group by channel order by channel limit 200`;

export interface ChannelFigures {
  readonly channel: string;
  readonly open: number;
  readonly unknown: number;
  readonly failed: number;
  readonly oldestOpenAt: Date | null;
  readonly lagMs: number | null;
  readonly more: boolean;
}

export const readChannels = (db: Session, tenant: string | undefined): Promise<ChannelFigures[]> =>
  db.query<ChannelFigures>(CHANNELS, [tenant ?? null]);

const NEXT_ATTEMPT = "select run_at as at from fairmill.job where id = $1 and state = 'scheduled'";
export const readNextAttempt = async (db: Session, job: string): Promise<Date | null> =>
  (await db.query<{ at: Date | null }>(NEXT_ATTEMPT, [job]))[0]?.at ?? null;

/** With the ends that are not added up yet. */
const ACCOUNT = `a.name as account, (a.balance + coalesce(p.released, 0))::float8 as available, (a.reserved - coalesce(p.ended, 0))::float8 as reserved, a.created_at as "createdAt"`;
const PENDING = `left join lateral (select sum(c.released) as released, sum(c.ended) as ended from fairmill.credit_pending c where c.account = a.name) p on true`;
const ACCOUNTS = `select ${ACCOUNT} from fairmill.account a ${PENDING} where a.name > $1 collate "C" order by a.name limit $2`;
const ONE_ACCOUNT = `select ${ACCOUNT}, b.captured::float8 as captured, b.days::float8 as days from fairmill.account a ${PENDING}
  cross join lateral (
    select coalesce(sum(e.amount), 0) as captured, greatest(extract(epoch from clock_timestamp() - min(e.created_at)) / 86400, 1.0 / 24) as days from (
      select x.amount - coalesce(x.returned, 0) as amount, x.created_at, x.kind from fairmill.credit_entry x where x.account = a.name order by x.account desc, x.id + 0 desc limit ${LOOKED}) e
    where e.kind = 'capture' and e.created_at > clock_timestamp() - interval '7 days') b
  where a.name = $1`;

export interface AccountRow {
  readonly account: string;
  readonly available: number;
  readonly reserved: number;
  readonly createdAt: Date;
}

export const readAccounts = (db: Session, after: string, limit: number): Promise<AccountRow[]> =>
  db.query<AccountRow>(ACCOUNTS, [after, limit]);

export const readAccount = async (db: Session, account: string) =>
  (await db.query<AccountRow & { captured: number; days: number | null }>(ONE_ACCOUNT, [account]))[0];

const APPROVALS = `select s.job_id::text as "jobId", s.name, j.kind, j.queue, j.tenant, j.progress as question, s.started_at as since, s.wake_at as deadline,
    (extract(epoch from clock_timestamp() - s.started_at) * 1000)::float8 as "ageMs"
  from fairmill.step s join fairmill.job j on j.id = s.job_id
  where s.kind = 'wait' and s.finished_at is null and s.signalled_at is null and s.position is not null and ($1::text is null or j.tenant = $1)
    and ($2::bigint is null or (s.job_id, s.name) > ($2, $3 collate "C")) order by s.job_id, s.name limit $4`;

export const readApprovals = (
  db: Session,
  tenant: string | undefined,
  after: { job: string; name: string } | undefined,
  limit: number,
): Promise<{ jobId: string; name: string; kind: string; tenant: string; question: unknown }[]> =>
  db.query(APPROVALS, [tenant ?? null, after?.job ?? null, after?.name ?? null, limit]);

/** The question of a token: as it stands, also when it is answered or over. */
const QUESTION = `select j.id::text as "jobId", j.kind, j.tenant, j.progress as question, s.kind as "stepKind", s.started_at as since, s.wake_at as deadline,
    s.signalled_at is not null as "isAnswered", s.finished_at is not null as "isOver", s.position is not null as "isAsked"
  from fairmill.job j left join fairmill.step s on s.job_id = j.id and s.name = $2 where j.id = $1`;

export interface QuestionRow {
  readonly jobId: string;
  readonly kind: string;
  readonly tenant: string;
  readonly question: unknown;
  /** null: the job has come to no step of this name. */
  readonly stepKind: string | null;
  readonly since: Date | null;
  readonly deadline: Date | null;
  readonly isAnswered: boolean;
  readonly isOver: boolean;
  readonly isAsked: boolean;
}

/** undefined: the job has ended, or never was. */
export const readQuestion = async (db: Session, job: string, signal: string): Promise<QuestionRow | undefined> =>
  (await db.query<QuestionRow>(QUESTION, [job, signal]))[0];

const NOW = `select clock_timestamp() as at,
    (select coalesce(sum(w.concurrency), 0)::integer from fairmill.worker w where w.state = 'alive' and w.lease_until > now()) as capacity,
    (select count(*)::integer from fairmill.worker w where w.state = 'alive' and w.lease_until > now()) as workers,
    (select count(*)::integer from (select from fairmill.job_history h where h.state = 'dead' and h.ended_at > now() - interval '24 hours'
      and ($1::text is null or h.tenant = $1) limit 1000) d) as dead`;
/** Ids are given in the order of time: the first ready job is the oldest, unless it was delayed and became due later than jobs behind it. */
const OLDEST = `with first as materialized (
    select j.id, j.created_at, j.run_at from (
      select x.id, x.state, x.created_at, x.run_at from fairmill.job x where ($1::text is null or x.tenant = $1) order by x.id limit ${LOOKED}) j
    where j.state = 'ready' order by j.id limit 1),
  oldest as (
    (select f.id, f.created_at as since from first f where coalesce(f.run_at <= f.created_at, true))
    union all
    (select j.id, greatest(j.created_at, j.run_at) from (
      select x.id, x.state, x.created_at, x.run_at from fairmill.job x where ($1::text is null or x.tenant = $1) order by x.id limit ${LOOKED}) j
    where j.state = 'ready' and exists (select from first f where f.run_at > f.created_at) order by 2 limit 1))
  select o.id::text as id, (extract(epoch from clock_timestamp() - o.since) * 1000)::float8 as "waitMs" from oldest o`;

export interface NowFigures {
  readonly at: Date;
  readonly capacity: number;
  readonly workers: number;
  readonly dead: number;
}

export const readNowFigures = async (db: Session, tenant: string | undefined): Promise<NowFigures> =>
  (await db.query<NowFigures>(NOW, [tenant ?? null]))[0]!;
export const readOldest = async (db: Session, tenant: string | undefined) =>
  (await db.query<{ id: string; waitMs: number }>(OLDEST, [tenant ?? null]))[0];

const KIND_WORKERS = `select k.kind, count(*)::integer as workers from fairmill.worker w cross join lateral unnest(w.kinds) as k (kind)
  where w.state = 'alive' and w.lease_until > now() and k.kind = any ($1) group by k.kind`;
export const readKindWorkers = async (db: Session, kinds: readonly string[]): Promise<Map<string, number>> =>
  new Map(
    (await db.query<{ kind: string; workers: number }>(KIND_WORKERS, [kinds])).map((row) => [row.kind, row.workers]),
  );

const RATE_LIMITED = `select coalesce(j.rate_limited_times, 0) as times from fairmill.job j where j.id = $1
  union all select coalesce(h.rate_limited_times, 0) from fairmill.job_history h where h.id = $1 limit 1`;
export const readRateLimitedTimes = async (db: Session, job: string): Promise<number> =>
  (await db.query<{ times: number }>(RATE_LIMITED, [job]))[0]?.times ?? 0;

const FIRST_RECORD = `select extract(epoch from least((select min(m.tick_started_at) from fairmill.worker_tick_metrics m),
    (select min(s.at) from fairmill.fleet_sample s)))::float8 * 1000 as ms`;
/** A minute late, or ten where ticks may be rarer: every worker that lives, and every tick that comes in time, would have done it. */
const OVERDUE = `select
    exists (select from fairmill.schedule s where s.paused_at is null and s.next_at < now() - interval '1 minute') as schedules,
    exists (select from fairmill.job j where j.aside = 'scheduled' and j.run_at < now() - interval '1 minute') as due,
    exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until < now() - interval '1 minute') as leases,
    exists (select from fairmill.levels()) and not exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > now())
      and not exists (select from fairmill.worker_tick_metrics m where m.tick_started_at > now() - interval '10 minutes') as waiting`;

export interface Overdue {
  readonly schedules: boolean;
  readonly due: boolean;
  readonly leases: boolean;
  readonly waiting: boolean;
}

export const readOverdue = async (db: Session): Promise<Overdue> => (await db.query<Overdue>(OVERDUE))[0]!;

/** When the first record was made that is kept; null: there is none. */
export const readFirstRecord = async (db: Session): Promise<number | null> =>
  (await db.query<{ ms: number | null }>(FIRST_RECORD))[0]!.ms;

/** When the first worker of each deployment started, where workers of another one had been before it. */
const DEPLOYMENTS = `with started as materialized (
    select coalesce(w.stats ->> 'deployment', w.version) as name, w.started_at from fairmill.worker w order by w.started_at desc limit ${LOOKED}),
  first as (select s.name, min(s.started_at) as at, count(*)::integer as workers from started s where s.name is not null group by s.name)
  select f.name, extract(epoch from f.at)::float8 * 1000 as "atMs", f.workers from first f
  where f.at >= $1 and f.at < $2 and exists (select from first other where other.at < f.at) order by f.at limit 50`;
export const readDeployments = (db: Session, since: Date, until: Date) =>
  db.query<{ name: string; atMs: number; workers: number }>(DEPLOYMENTS, [since, until]);
