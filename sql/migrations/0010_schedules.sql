-- Schedules: jobs that are enqueued by the clock. When a schedule ticks is reckoned by workers (cron expressions, time zones); that a tick
-- makes one job is kept here.

create table fairmill.schedule (
  name          text collate "C" primary key,
  cron          text        not null,
  timezone      text        not null,
  job           jsonb       not null,                 -- as enqueue_many_v1 takes it; its payload may be sealed
  missed_max    integer     not null default 0,       -- of ticks that nobody saw in time, the latest so many are made up for
  jitter_ms     bigint      not null default 0,
  fingerprint   text        not null,                 -- of the definition: declaring the same one again changes nothing
  next_at       timestamptz not null,                 -- the first tick that is not done
  held_until    timestamptz,                          -- ticking failed: not before this moment again
  last_tick_at  timestamptz,
  last_job_id   bigint,
  last_error    jsonb,                                -- why the last tick made no job, or why ticking fails
  paused_at     timestamptz,
  revision      bigint      not null default 1,       -- raised by every change: who reckoned from an older one does nothing
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),   -- of the definition
  constraint schedule_name_fits check (octet_length(name) between 1 and 200),
  constraint schedule_job_is_one check (jsonb_typeof(job) = 'object' and job ? 'kind' and not job ?| '{run_at,delay_ms,idempotency_key}'),
  constraint schedule_missed_fits check (missed_max between 0 and 1000),
  constraint schedule_jitter_fits check (jitter_ms between 0 and 3153600000000),
  constraint schedule_job_fits check (pg_column_size(job) <= 2 * 1024 * 1024 + 8192)
) with (fillfactor = 50);
-- What is due first.
create index schedule_due on fairmill.schedule (greatest(next_at, held_until)) where paused_at is null;

-- Each tick once, whoever reckons it: no two rows have the same schedule and moment.
create table fairmill.schedule_tick (
  schedule      text collate "C" not null,            -- no foreign key: a schedule that is removed and made again does not repeat a tick
  tick_at       timestamptz not null,                 -- the moment that the expression names
  job_id        bigint,                               -- what it made, or whose unique key was in the way
  refused       jsonb,                                -- what did not let the job in
  made_at       timestamptz not null default clock_timestamp(),
  primary key (schedule, tick_at)
);
-- Of which tick a job is.
create index schedule_tick_job on fairmill.schedule_tick (job_id) where job_id is not null;
create index schedule_tick_age on fairmill.schedule_tick (made_at);
