-- What ticks and long-running workers did: a row for each tick, and one for each interval of a worker. All of a row is
-- bounded. The one source of figures for metrics, alerts and the dashboard: a job pays nothing for it.

create table fairmill.worker_tick_metrics (
  id                    bigint generated always as identity primary key,
  worker_id             text collate "C" not null,
  mode                  text collate "C" not null,     -- tick: one call of a handler; interval: a worker's last seconds
  tick_started_at       timestamptz not null,
  interval_ms           integer     not null,          -- how long the row covers
  -- Processing time: of a tick all of it; of an interval the sum of its runs, at most all of it.
  tick_duration_ms      integer     not null,
  budget_ms             integer,                       -- of a tick: how long it was allowed to take
  jobs_claimed          integer     not null default 0,
  jobs_processed        integer     not null default 0, -- runs that came to an end, whatever it was
  jobs_succeeded        integer     not null default 0,
  jobs_failed           integer     not null default 0, -- attempts that failed, retried or not
  jobs_dead             integer     not null default 0, -- of these, the last ones
  jobs_throttled        integer     not null default 0, -- that a limit kept waiting
  jobs_released         integer     not null default 0, -- given back with the attempt unspent
  jobs_yielded          integer     not null default 0, -- of these, at a step, because the time of the tick was over
  jobs_recovered        integer     not null default 0, -- of dead workers, by this one's upkeep
  leases_lost           integer     not null default 0, -- verdicts that the fence refused, and lives declared lost
  -- Statements that another session's locks kept from their end, and claims that came too late.
  lock_contention_count integer     not null default 0,
  running               integer     not null default 0, -- jobs in hand at the end
  tenant_jobs           jsonb       not null default '{}', -- tenant → claimed; "" is the rest
  queue_depth_at_start  integer,                       -- ready jobs of the worker's queues; null: not known
  kinds                 jsonb       not null default '{}',
  tenants               jsonb       not null default '{}',
  queues                jsonb,                         -- null: another worker has just looked
  throttled             jsonb       not null default '[]',
  constraint worker_tick_metrics_mode_is_known check (mode in ('tick', 'interval')),
  constraint worker_tick_metrics_worker_fits check (length(worker_id) between 1 and 200),
  constraint worker_tick_metrics_counts_fit check (
    least(interval_ms, tick_duration_ms, jobs_claimed, jobs_processed, jobs_succeeded, jobs_failed, jobs_dead,
      jobs_throttled, jobs_released, jobs_yielded, jobs_recovered, leases_lost, lock_contention_count, running) >= 0),
  -- 50 kinds with two histograms each, 50 tenants, 50 queues: far less than this, and a wall for other callers.
  constraint worker_tick_metrics_is_small check (
    pg_column_size(tenant_jobs) + pg_column_size(kinds) + pg_column_size(tenants) + coalesce(pg_column_size(queues), 0)
      + pg_column_size(throttled) <= 256 * 1024)
);
-- The last minutes of all workers, and what retention removes.
create index worker_tick_metrics_age on fairmill.worker_tick_metrics (tick_started_at);
-- The rows of one worker.
create index worker_tick_metrics_worker on fairmill.worker_tick_metrics (worker_id, tick_started_at);

-- The last five minutes of each worker. Levels by thresholds: health_v1.
create view fairmill.worker_health_summary as
select m.worker_id, (array_agg(m.mode order by m.tick_started_at desc))[1] as mode, count(*) as tick_count,
  round(avg(m.tick_duration_ms), 1) as avg_tick_duration_ms, sum(m.jobs_claimed) as total_jobs_claimed,
  sum(m.jobs_succeeded) as total_jobs_succeeded, sum(m.jobs_failed) as total_jobs_failed,
  sum(m.jobs_throttled) as total_jobs_throttled, sum(m.lock_contention_count) as total_lock_contentions,
  sum(m.leases_lost) as total_leases_lost, round(avg(m.jobs_claimed), 1) as avg_jobs_per_tick,
  (array_agg(m.queue_depth_at_start order by m.tick_started_at desc)
     filter (where m.queue_depth_at_start is not null))[1] as queue_depth,
  max(m.tick_started_at) as last_tick_at
from fairmill.worker_tick_metrics m
where m.tick_started_at > now() - interval '5 minutes'
group by m.worker_id;
