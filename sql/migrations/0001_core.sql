-- The core tables: live jobs, ended jobs, workers, queues.
-- In every file below sql/ the word fairmill means the schema: the migration runner puts the configured name in its place.

create table fairmill.job (
  id            bigint generated always as identity primary key,
  lease_no      integer     not null default 0,   -- raised by every claim, never lowered: half of the fence
  priority      smallint    not null default 0,
  attempt       smallint    not null default 0,   -- counted by the claim, given back by snooze and release
  crashes       smallint    not null default 0,   -- attempts whose worker died; they do not use up max_attempts
  max_attempts  smallint    not null default 3,
  state         text collate "C" not null,
  queue         text collate "C" not null,
  tenant        text collate "C" not null,
  kind          text collate "C" not null,
  key           text collate "C",                 -- a finer limit inside the tenant
  worker        text collate "C",                 -- who runs it: the other half of the fence
  created_at    timestamptz not null default now(),
  run_at        timestamptz,
  expire_at     timestamptz,
  started_at    timestamptz,
  cancel_requested_at timestamptz,
  payload       jsonb       not null,
  progress      jsonb,
  failures      jsonb,                            -- array: one object per attempt that did not succeed
  -- A job has a worker exactly while it runs: settles compare the worker alone.
  constraint job_state_fits check (case state
    when 'ready' then worker is null and started_at is null
    when 'running' then worker is not null and started_at is not null
    when 'scheduled' then worker is null and started_at is null and run_at is not null
    when 'blocked' then worker is null and started_at is null
    else false end),
  constraint job_counts_fit check (crashes >= 0 and attempt >= crashes and lease_no >= attempt and max_attempts >= 1),
  -- The library refuses more than 1 MiB of JSON text; this is the wall for everybody else.
  constraint job_payload_fits check (pg_column_size(payload) <= 2 * 1024 * 1024),
  constraint job_names_fit check (octet_length(queue) between 1 and 200 and octet_length(tenant) between 1 and 200 and octet_length(kind) between 1 and 200)
) with (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 1,
  autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.2
);

-- The lanes: what the fair claim walks along.
create index job_ready on fairmill.job (queue, priority, tenant, id) where state = 'ready';
-- What a worker holds: recovery, cancellation, reconciliation.
create index job_running on fairmill.job (worker, id) where state = 'running';
-- What becomes due.
create index job_scheduled on fairmill.job (run_at, id) where state = 'scheduled';
-- What has a time to live and is not running.
create index job_expiring on fairmill.job (expire_at, id) where expire_at is not null and state <> 'running';

-- Ended jobs, one partition a day: retention drops whole partitions.
create table fairmill.job_history (
  id            bigint      not null,
  lease_no      integer     not null,
  priority      smallint    not null,
  attempt       smallint    not null,
  crashes       smallint    not null,
  max_attempts  smallint    not null,
  state         text collate "C" not null,
  queue         text collate "C" not null,
  tenant        text collate "C" not null,
  kind          text collate "C" not null,
  key           text collate "C",
  worker        text collate "C",
  created_at    timestamptz not null,
  run_at        timestamptz,
  expire_at     timestamptz,
  started_at    timestamptz,
  ended_at      timestamptz not null,
  payload       jsonb       not null,
  progress      jsonb,
  failures      jsonb,
  result        jsonb,
  error         jsonb,
  constraint job_history_state_is_ended check (state in ('done', 'dead', 'cancelled')),
  constraint job_history_done_was_run check (state <> 'done' or worker is not null),
  primary key (id, ended_at)
) partition by range (ended_at);

create index job_history_dead on fairmill.job_history (id) where state = 'dead';

-- Catches what no daily partition covers, so that a settle never fails for want of one.
create table fairmill.job_history_rest partition of fairmill.job_history default;
-- Retention removes rows here one by one, oldest first.
create index job_history_rest_age on fairmill.job_history_rest (ended_at);

-- One row per worker incarnation. Heartbeats touch this row, not the jobs.
create table fairmill.worker (
  id            text collate "C" primary key,
  state         text collate "C" not null default 'alive',
  lease_until   timestamptz not null,
  beat_at       timestamptz not null default now(),
  started_at    timestamptz not null default now(),
  ended_at      timestamptz,
  listening     boolean     not null default false,  -- wants a notification when work arrives
  concurrency   integer     not null default 1,
  queues        text[]      not null default '{}',
  kinds         text[],                              -- null: every kind
  host          text,
  pid           integer,
  version       text,
  stats         jsonb       not null default '{}',
  constraint worker_state_is_known check (state in ('alive', 'lost', 'stopped')),
  constraint worker_id_fits check (length(id) between 1 and 200)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- Per queue: raised by whoever makes an old id ready, so that workers forget their floors and look again.
create table fairmill.queue (
  name          text collate "C" primary key,
  rescan_no     bigint      not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- A repeated enqueue with the same key finds the first job here, also after that job ended.
create table fairmill.idempotency (
  tenant        text collate "C" not null,
  kind          text collate "C" not null,
  key           text collate "C" not null,
  job_id        bigint      not null,
  created_at    timestamptz not null default now(),
  constraint idempotency_key_fits check (length(key) between 1 and 500),
  primary key (tenant, kind, key)
);
create index idempotency_age on fairmill.idempotency (created_at);
