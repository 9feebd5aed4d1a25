-- The baseline: every table of the schema, by shelf. What each shelf holds, then why its constraints and indexes are
-- there.
-- In every file below sql/ the word fairmill means the schema: the migration runner puts the configured name in its
-- place.
-- schema.sql beside this folder shows what the migrations come to.

------------------------------------------------------------------------------------------------------------------------
-- Enqueue: live jobs, and what is known of jobs before they are stored
------------------------------------------------------------------------------------------------------------------------

-- What comes in with a job is checked once, where it comes in, as a value of one of these types. A CHECK of the table
-- would be read, prepared and asked again by every statement that writes a job: by each claim as well, which changes
-- none of this.
create domain fairmill.label as text collate "C" check (octet_length(value) between 1 and 200);
-- The library refuses more than 1 MiB of JSON text; this is the wall for every other caller.
create domain fairmill.payload as jsonb check (pg_column_size(value) <= 2 * 1024 * 1024);
create domain fairmill.max_attempts as smallint check (value >= 1);
create domain fairmill.timeout_ms as bigint check (value >= 0);
create domain fairmill.tag as text check (value is not null and length(value) between 1 and 64);
create domain fairmill.tags as fairmill.tag[] check (cardinality(value) between 1 and 16);
-- The traceparent of W3C Trace Context.
create domain fairmill.trace as text check (value ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$');
create domain fairmill.unique_key as text collate "C" check (length(value) between 1 and 500);
create domain fairmill.unique_until as text collate "C" check (value in ('started', 'settled'));
revoke usage on domain fairmill.label, fairmill.payload, fairmill.max_attempts, fairmill.timeout_ms, fairmill.tag,
  fairmill.tags,
  fairmill.trace, fairmill.unique_key, fairmill.unique_until from public;

-- The number of a level: queue and priority. Of one queue, the higher level has the higher number; priority 32768 is
-- above them all. Two queues may share numbers, so a query that goes by the number asks for the queue as well.
-- An index stands on it: never to be changed, only to be replaced by another one. Without settings of its own, so that
-- it is inlined.
create function fairmill.level_v1(queue text, priority integer) returns bigint
language sql immutable parallel safe
return (hashtextextended(queue, 0) & -131072) | (priority + 32768);
revoke execute on function fairmill.level_v1(text, integer) from public;

-- Live jobs: small and hot. Jobs that end move to job_history. What a job does not have is null and costs nothing.
create table fairmill.job (
  id            bigint generated always as identity primary key with (deduplicate_items = off),
  -- raised by every claim, never lowered (next_lease): half of the fence
  lease_no      bigint      not null default 0,
  priority      smallint    not null default 0,
  attempt       smallint    not null default 0,   -- counted by the claim, given back by snooze and release
  crashes       smallint    not null default 0,   -- attempts whose worker died; they do not use up max_attempts
  max_attempts  smallint    not null default 3,
  state         text collate "C" not null,        -- scheduled | blocked | ready | running
  queue         text collate "C" not null,
  tenant        text collate "C" not null,
  kind          text collate "C" not null,
  key           text collate "C",                 -- a finer limit inside the tenant
  worker        text collate "C",                 -- which worker runs it: the other half of the fence
  created_at    timestamptz not null default now(),
  run_at        timestamptz,
  expire_at     timestamptz,
  started_at    timestamptz,
  cancel_requested_at timestamptz,
  payload       jsonb       not null,
  progress      jsonb,
  failures      jsonb,                            -- array: one object per attempt that did not succeed
  -- whose slots and rate it uses: kind, or kind and tenant, or kind, tenant and key, as JSON
  limit_key     text collate "C",
  slot          integer,                          -- the slot it holds under its key's limit; null: none
  rate_limited_times     integer,                          -- how often a rate put it back
  rate_limited      boolean,                          -- the rate of its key put it back, and it has not started since
  unique_key    text collate "C",
  -- started: until its first claim, which removes the key; settled: until it ends
  unique_until  text collate "C",
  rerun_of      bigint,                           -- the job of which it is the edited repetition
  reservation   bigint,                           -- the credit_entry that reserves units for it
  outbox        bigint,                           -- the message that it delivers
  batch         bigint,                           -- of which it is a member
  -- Null: in its lane, ready or running. Otherwise why it is not there: scheduled or blocked.
  -- Not a generated column: to make one is another copy of every row that is written.
  aside         text collate "C",
  released      jsonb,                            -- how often it was released in a row, when and why the last time
  -- the time limit of a run; 0: none; null: as the definition of its kind says
  timeout_ms    bigint,
  tags          text[],
  trace         text,                             -- the traceparent of the span that enqueued it
  -- its position in the lane; null: its id, as of all jobs that were ready when they came
  turn_no       bigint,
  -- A job has a worker exactly while it runs: settles compare the worker alone. Only what a change of state could break
  -- is here, in as few words as it takes: their number is what it costs.
  constraint job_fits check (
    state = coalesce(aside, case when worker is null then 'ready' else 'running' end)
    and (worker is null) = (started_at is null)
    and case when aside is null then slot is null or limit_key is not null
      when aside = 'scheduled' then worker is null and run_at is not null and (slot is null or limit_key is not null)
      else aside = 'blocked' and worker is null and limit_key is not null and slot is null end
    and attempt between crashes and lease_no
    and (unique_key is null) = (unique_until is null))
) with (
  -- Room on each page for the second version of its rows: a claim is then a heap-only update.
  fillfactor = 45,
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 1,
  autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.2
);

-- A claim changes nothing that an index knows of: PostgreSQL then writes the new version of the row beside the old one
-- and no entry into any index. So what it changes (state, worker, lease_no, attempt, started_at) may stand in no index,
-- neither as a column nor in a condition.
-- Equal entries are not looked for (deduplicate_items) where there are none worth it: an id has one entry for each
-- version of its row.

-- The lanes: what the fair claim walks along. It begins with one number for queue and priority, because every entry is
-- compared with some eight others when it is written, and a number is compared in a tenth of the time.
create index job_lane on fairmill.job (fairmill.level_v1(queue, priority), tenant, coalesce(turn_no, id))
  with (deduplicate_items = off) where aside is null;
-- What becomes due.
create index job_scheduled on fairmill.job (run_at, id) where aside = 'scheduled';
-- What waits for a slot, best first.
create index job_blocked on fairmill.job (limit_key, priority desc, id) where aside = 'blocked';
-- A slot is held once: whatever a function does, two jobs never share one.
create unique index job_slot on fairmill.job (limit_key, slot) with (deduplicate_items = off) where slot is not null;
-- What the rate of its key put back, and until when.
create index job_rate_limited on fairmill.job (limit_key, run_at) where aside = 'scheduled' and rate_limited;
-- What has a time to live.
create index job_expiring on fairmill.job (expire_at, id) where expire_at is not null;
-- What was asked to cancel.
create index job_cancelling on fairmill.job (id) where cancel_requested_at is not null;
-- The guard of unique jobs: no two live jobs of a tenant and kind hold the same key.
create unique index job_unique on fairmill.job (tenant, kind, unique_key) where unique_key is not null;
-- From a job to its repetitions. Hardly any job has one, so this is nearly empty.
create index job_rerun on fairmill.job (rerun_of) where rerun_of is not null;
-- The members of a batch.
create index job_batch on fairmill.job (batch, id) where batch is not null;

-- A job on its way in: what the caller said of it, with every default filled in, and what the checks before the insert
-- have found.
create type fairmill.new_job as (
  n               integer,      -- its position in the caller's list, from 1
  id              bigint,       -- its own; where another job stands for it, that one's
  kind            text,
  tenant          text,
  queue           text,
  priority        smallint,
  max_attempts    smallint,
  key             text,
  payload         jsonb,
  run_at          timestamptz,  -- null: at once
  expire_ms       float8,
  timeout_ms      bigint,
  tags            text[],
  trace           text,
  idempotency_key text,
  unique_key      text,
  unique_until    text,
  unique_for_ms   float8,
  on_conflict     text,
  debounce_max_ms float8,       -- of a debounced job alone
  account         text,
  amount          bigint,
  batch           bigint,
  outbox          bigint,
  state           text,         -- in which it is stored: ready | scheduled | blocked
  limit_key       text,
  -- what the limit of its key says when all slots are taken: wait | refuse; null: no such limit
  when_full       text,
  slot            integer,
  reservation     bigint,       -- the entry of its credits
  conflict        text,         -- known | kept | replaced: another job stands for it; null: none does
  refusal         jsonb         -- why it is not stored; null: nothing stands against it
);

-- A claim's answer: a claimed job, or, in one row more without an id, what limits held back.
create type fairmill.claimed_job as (
  id           bigint,
  lease_no     bigint,
  priority     smallint,
  tenant       text,
  kind         text,
  key          text,
  attempt      smallint,
  crashes      smallint,
  max_attempts smallint,
  payload      jsonb,
  batch        bigint,
  timeout_ms   bigint,
  trace        text,
  held_back    jsonb      -- of a claim, not of a job: see claim_limited
);

-- Per queue: raised by a session that makes an old id ready, so that workers forget their floors and look again.
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
-- Retention removes them oldest first.
create index idempotency_age on fairmill.idempotency (created_at);

-- Unique keys that hold for a period, whatever becomes of the job.
create table fairmill.unique_period (
  tenant        text collate "C" not null,
  kind          text collate "C" not null,
  key           text collate "C" not null,
  job_id        bigint      not null,
  expires_at    timestamptz not null,
  constraint unique_period_key_fits check (length(key) between 1 and 500),
  primary key (tenant, kind, key)
);
-- Retention removes them when they are over.
create index unique_period_end on fairmill.unique_period (expires_at);

------------------------------------------------------------------------------------------------------------------------
-- Settle: ended jobs
------------------------------------------------------------------------------------------------------------------------

-- Ended jobs, one partition a day: retention drops whole partitions.
create table fairmill.job_history (
  id            bigint      not null,
  lease_no      bigint      not null,
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
  limit_key     text collate "C",
  rate_limited_times     integer,
  rerun_of      bigint,
  reservation   bigint,
  outbox        bigint,
  batch         bigint,
  timeout_ms    bigint,
  tags          text[],
  trace         text,
  constraint job_history_state_is_ended check (state in ('done', 'dead', 'cancelled')),
  constraint job_history_done_was_run check (state <> 'done' or worker is not null),
  primary key (id, ended_at)
) partition by range (ended_at);

-- Lists of what failed, newest first.
create index job_history_dead on fairmill.job_history (id) where state = 'dead';
create index job_history_cancelled on fairmill.job_history (id) where state = 'cancelled';
create index job_history_rerun on fairmill.job_history (rerun_of) where rerun_of is not null;
create index job_history_batch on fairmill.job_history (batch, id) where batch is not null;

-- Catches what no daily partition covers, so that a settle never fails for want of one.
create table fairmill.job_history_rest partition of fairmill.job_history default;
-- Retention removes rows here one by one, oldest first. With the id, because a row by its primary key must not be
-- looked for among all that ended at the same time, whichever index is chosen.
create index job_history_rest_age on fairmill.job_history_rest (ended_at, id);

------------------------------------------------------------------------------------------------------------------------
-- Worker and claim
------------------------------------------------------------------------------------------------------------------------

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

-- Where to look for the jobs of a worker: a list for each of its claims. Every job that it runs is in one of its lists;
-- a list also names jobs that it has settled since. Which worker runs a job is said by the job alone.
create table fairmill.claim_list (
  worker text collate "C" not null,
  -- given by the worker, which uses it again when all jobs of the list are settled; below zero: by the database
  list_no bigint not null,
  ids    bigint[] not null,
  primary key (worker, list_no)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 1);
-- Numbers in a row do not get much shorter, and every claim would wait for the compression.
alter table fairmill.claim_list alter column ids set storage external;

------------------------------------------------------------------------------------------------------------------------
-- Limits: settings change rarely; what is spent, and the lock under which it is counted, is in meter
------------------------------------------------------------------------------------------------------------------------

-- Limits, pause and weight of a queue, a kind or a tenant. A row that says nothing special is not kept.
create table fairmill.limit_setting (
  scope            text collate "C" not null,
  name             text collate "C" not null,
  weight           float8      not null default 1,      -- tenants: their part of the service
  -- at most so many at once, across the fleet: the lower one of the two below
  max_running      integer,
  rate_limit       integer,                             -- at most so many in rate_per_ms
  rate_per_ms      bigint,
  -- window: in every sliding window; uniform: one every rate_per_ms / rate_limit
  rate_how         text collate "C",
  rate_at          text collate "C",                    -- start: the job waits; enqueue: it is refused
  paused_at        timestamptz,
  changed_at       timestamptz not null default now(),
  set_max_running  integer,                             -- what an operator has set
  defined_max_running integer,                             -- of a kind: what its definition says
  primary key (scope, name),
  constraint limit_setting_scope_is_known check (scope in ('queue', 'kind', 'tenant')),
  constraint limit_setting_name_fits check (octet_length(name) between 1 and 200),
  constraint limit_setting_weight_fits check (weight between 0.01 and 1000 and (weight = 1 or scope = 'tenant')),
  constraint limit_setting_max_running_fits check (max_running between 0 and 1000000),
  -- A check that is null is passed: so the parts that are missing are asked for.
  constraint limit_setting_rate_fits check (case when rate_limit is null
    then coalesce(rate_per_ms::text, rate_how, rate_at) is null
    else coalesce(rate_limit between 1 and 1000000 and rate_per_ms between 1 and 2592000000
      and rate_how in ('window', 'uniform') and rate_at in ('start', 'enqueue'), false) end)
);
-- Is there a tenant with a weight? One probe says no.
create index limit_setting_weighted on fairmill.limit_setting (scope, name) where weight <> 1;
-- Is there a limit that a claim, or an enqueue, must look at? One probe says no.
create index limit_setting_at_start on fairmill.limit_setting (scope, name)
  where paused_at is not null or max_running is not null or rate_at = 'start';
create index limit_setting_at_enqueue on fairmill.limit_setting (scope, name) where rate_at = 'enqueue';

-- What the definition of a kind says about its keys.
create table fairmill.key_limit (
  kind          text collate "C" primary key,
  -- what a limit_key is made of: key (with kind and tenant), tenant (with kind), kind
  per           text collate "C" not null default 'key',
  max_running   integer,
  when_full     text collate "C" not null default 'wait',   -- wait: the job is blocked; refuse: it is not adopted
  rate_limit    integer,
  rate_per_ms   bigint,
  rate_how      text collate "C",
  rate_at       text collate "C",
  constraint key_limit_kind_fits check (octet_length(kind) between 1 and 200),
  constraint key_limit_per_is_known check (per in ('key', 'tenant', 'kind')),
  constraint key_limit_when_full_is_known check (when_full in ('wait', 'refuse')),
  constraint key_limit_max_running_fits check (max_running between 1 and 10000),
  constraint key_limit_rate_fits check (case when rate_limit is null
    then coalesce(rate_per_ms::text, rate_how, rate_at) is null
    else coalesce(rate_limit between 1 and 1000000 and rate_per_ms between 1 and 2592000000
      and rate_how in ('window', 'uniform') and rate_at in ('start', 'enqueue'), false) end)
);
-- Is there a rate of keys that a claim must look at? One probe says no.
create index key_limit_at_start on fairmill.key_limit (kind) where rate_at = 'start';

-- What callers and workers reported about the limits of kinds, and when. A caller's transaction only adds a row here:
-- key_limit has one row per kind, and a transaction that wrote it would make every other caller of the kind wait for
-- its commit. Upkeep takes such rows over.
create table fairmill.key_limit_report (
  id               bigint      generated always as identity primary key,
  kind             text collate "C" not null,
  reported_at          timestamptz not null,               -- by the database's clock: the last report is right
  -- key_limit and limit_setting say it; of each kind the last such row stays, for its reported_at
  adopted          boolean     not null default false,
  per              text collate "C" not null,          -- from here on as in key_limit
  max_running      integer,
  when_full        text collate "C" not null,
  rate_limit       integer,
  rate_per_ms      bigint,
  rate_how         text collate "C",
  rate_at          text collate "C",
  -- the cap of the whole kind: defined_max_running of limit_setting
  kind_max_running integer,
  constraint key_limit_report_kind_fits check (octet_length(kind) between 1 and 200),
  constraint key_limit_report_per_is_known check (per in ('key', 'tenant', 'kind')),
  constraint key_limit_report_when_full_is_known check (when_full in ('wait', 'refuse')),
  constraint key_limit_report_max_running_fits check (max_running between 1 and 10000),
  constraint key_limit_report_kind_max_running_fits check (kind_max_running between 0 and 1000000),
  constraint key_limit_report_rate_fits check (case when rate_limit is null
    then coalesce(rate_per_ms::text, rate_how, rate_at) is null
    else coalesce(rate_limit between 1 and 1000000 and rate_per_ms between 1 and 2592000000
      and rate_how in ('window', 'uniform') and rate_at in ('start', 'enqueue'), false) end)
);
-- The last report of a kind.
create index key_limit_report_order on fairmill.key_limit_report (kind, reported_at, id);
-- Empty at most times: one probe says so.
create index key_limit_report_new on fairmill.key_limit_report (kind) where not adopted;

-- The limits of keys that jobs obey when they come in or look for a slot: key_limit, and what was reported last and is
-- not adopted over yet.
create view fairmill.key_limit_in_force as
select r.kind, r.per, r.max_running, r.when_full, r.rate_limit, r.rate_per_ms, r.rate_how, r.rate_at
from fairmill.key_limit r
where not exists (
  select from fairmill.key_limit_report t
  where t.kind = r.kind and not t.adopted
    and not exists (
      select from fairmill.key_limit_report later
      where later.kind = t.kind and (later.reported_at, later.id) > (t.reported_at, t.id)))
union all
select t.kind, t.per, t.max_running, t.when_full, t.rate_limit, t.rate_per_ms, t.rate_how, t.rate_at
from fairmill.key_limit_report t
where not t.adopted and coalesce(t.max_running, t.rate_limit) is not null
  and not exists (
    select from fairmill.key_limit_report later
    where later.kind = t.kind and (later.reported_at, later.id) > (t.reported_at, t.id));

-- The lock of a limit or key, and what was spent of its rate. Made on demand, removed when idle. Enqueues have meters
-- of their own: a transaction of the caller may hold them for long, and no claim or settle may wait for that.
create table fairmill.meter (
  use           text collate "C" not null,           -- start | enqueue | freed: only a mark for upkeep
  scope         text collate "C" not null,           -- queue | kind | tenant | key
  name          text collate "C" not null,           -- of a key: its limit_key
  spent_at      timestamptz[],                       -- window: times, rounded up; uniform: the last one alone
  spent         integer[],                           -- how many at each of them
  recheck       boolean     not null default false,  -- a job may be blocked although a slot is free: upkeep looks
  used_at       timestamptz not null default now(),
  -- of a cap: all jobs that run under it, and some that have ended since
  running_ids   bigint[],
  primary key (use, scope, name)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
-- As the ids of claim_list.
alter table fairmill.meter alter column running_ids set storage external;
create index meter_recheck on fairmill.meter (name) where recheck;
-- Retention removes them when they were not used for long.
create index meter_idle on fairmill.meter (used_at);

------------------------------------------------------------------------------------------------------------------------
-- Steps
------------------------------------------------------------------------------------------------------------------------

-- Parts of a job whose results are kept, so that the next run passes them instead of doing them again.
create table fairmill.step (
  -- no foreign key: the job moves to the history, its steps stay where they are
  job_id        bigint      not null,
  name          text collate "C" not null,
  kind          text collate "C" not null,        -- run: a result; sleep: a time; wait: a signal from outside
  -- the how-manieth call of its run it was; null: a signal that no run has asked for yet
  position      integer,
  result        jsonb,                            -- what the step came to, or the value of the signal; null: nothing
  bytes         integer     not null default 0,   -- of the result, as JSON text
  wake_at       timestamptz,                      -- sleep: when it is over; wait: when waiting ends, null: never
  signalled_at  timestamptz,                      -- wait: when the signal came
  started_at    timestamptz not null,
  finished_at   timestamptz,                      -- when the handler was given it; null: it still waits
  attempt       smallint    not null,
  lease_no      bigint      not null,             -- the lease under which it was stored, or began to wait
  primary key (job_id, name),
  constraint step_kind_is_known check (kind in ('run', 'sleep', 'wait')),
  constraint step_name_fits check (octet_length(name) between 1 and 200),
  constraint step_kind_fits check (case kind
    when 'run' then position is not null and finished_at is not null and wake_at is null and signalled_at is null
    when 'sleep' then position is not null and wake_at is not null and signalled_at is null and result is null
    -- A run that asks is given what came, or that nothing came.
    when 'wait' then (position is not null or signalled_at is not null and finished_at is null)
      and (signalled_at is not null or result is null)
    else false end),
  -- The library refuses more than 1 MiB of JSON text; this is the wall for every other caller.
  constraint step_result_fits check (result is null or pg_column_size(result) <= 2 * 1024 * 1024)
);
-- Retention removes them one by one, oldest first.
create index step_age on fairmill.step (started_at);

------------------------------------------------------------------------------------------------------------------------
-- Credits: a job reserves units when it is enqueued; its end captures them (done) or gives them back (any other)
------------------------------------------------------------------------------------------------------------------------

-- What an account has. Locked by sessions that take from it; one that ends a reservation does not touch it
-- (credit_pending).
create table fairmill.account (
  name          text collate "C" primary key,
  balance       bigint      not null default 0,           -- free
  reserved      bigint      not null default 0,           -- by jobs that have not ended
  created_at    timestamptz not null default now(),
  constraint account_name_fits check (octet_length(name) between 1 and 200),
  constraint account_balance_fits check (balance >= 0 and reserved >= 0 and balance + reserved <= 9007199254740991)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);

-- Every movement, written once and never changed.
create table fairmill.credit_entry (
  id            bigint generated always as identity primary key,
  account       text collate "C" not null,
  kind          text collate "C" not null,
  amount        bigint      not null,
  reservation_id       bigint,                                   -- of an end: the reservation that it ends
  job_id        bigint,
  key           text collate "C",                         -- of a grant: the same key grants once
  reason        text,
  created_at    timestamptz not null default clock_timestamp(),
  constraint credit_entry_kind_is_known check (kind in ('grant', 'reservation', 'capture', 'release')),
  constraint credit_entry_amount_fits check (amount between 1 and 1000000000000),
  constraint credit_entry_is_whole check (case
    when kind in ('capture', 'release') then reservation_id is not null and job_id is not null
    when kind = 'reservation' then reservation_id is null and job_id is not null
    else reservation_id is null and job_id is null end)
);
-- A reservation ends once, in one way.
create unique index credit_entry_end on fairmill.credit_entry (reservation_id) where reservation_id is not null;
create unique index credit_entry_key on fairmill.credit_entry (account, key) where key is not null;
-- The statement of an account, newest first. Not the bare id: a look for one entry by its id, planned while the table
-- was empty, would walk along this index from end to end.
create index credit_entry_account on fairmill.credit_entry (account, (id + 0));

-- Ends of reservations that the account does not know of yet: the session that locks it next, or upkeep, adds them up.
-- So a settle never waits for a transaction that has the account locked.
create table fairmill.credit_pending (
  entry_id      bigint      primary key,
  account       text collate "C" not null,
  ended         bigint      not null,                     -- no longer reserved
  released      bigint      not null                      -- of these, free again
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
create index credit_pending_account on fairmill.credit_pending (account);

------------------------------------------------------------------------------------------------------------------------
-- Outbox
------------------------------------------------------------------------------------------------------------------------

-- Messages for receivers outside of the database. Each has a key of its own, and a delivery job that carries it out.
create table fairmill.outbox (
  id              bigint generated always as identity primary key,
  tenant          text collate "C" not null,
  channel         text collate "C" not null,
  idempotency_key text collate "C" not null,      -- what the receiver is told with every attempt: never another one
  payload         jsonb       not null,           -- the message; sealed where the publisher has a codec
  -- messages with the same one go out one after the other; null: in no order
  order_key       text collate "C",
  status          text collate "C" not null default 'pending',
  -- the job that delivers it, live or ended; null: it waits behind others of its order key
  job_id          bigint,
  waiting         jsonb,                          -- while it waits behind others: what its job will be
  recheck         boolean     not null default false,   -- it may be the head of its order key, unseen: upkeep looks
  -- one object per attempt to send: at, worker, lease_no, attempt, outcome, error
  attempts        jsonb       not null default '[]',
  answer          jsonb,                          -- what the receiver said when it took the message
  created_at      timestamptz not null default now(),
  ended_at        timestamptz,
  constraint outbox_status_fits check (case status
    when 'pending' then ended_at is null
    -- A worker may have sent it: from before the first byte until its end is on record.
    when 'sending' then ended_at is null and job_id is not null
    when 'sent' then ended_at is not null
    when 'failed' then ended_at is not null
    when 'skipped' then ended_at is not null
    when 'unknown' then ended_at is not null
    else false end),
  constraint outbox_waiting_fits check (waiting is null or status = 'pending' and job_id is null
    and order_key is not null),
  constraint outbox_names_fit check (octet_length(tenant) between 1 and 200 and octet_length(channel) between 1 and 180
    and length(idempotency_key) between 1 and 500 and octet_length(order_key) between 1 and 200),
  -- The library refuses more than 1 MiB of JSON text; this is the wall for every other caller.
  constraint outbox_payload_fits check (pg_column_size(payload) <= 2 * 1024 * 1024),
  -- A key is known once, whichever session publishes, and for as long as the row is kept.
  constraint outbox_key unique (tenant, channel, idempotency_key)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
-- Of messages in order at most one is under way, whichever session begins them.
create unique index outbox_head on fairmill.outbox (tenant, channel, order_key)
  where order_key is not null and ended_at is null and waiting is null;
-- The next of an order key.
create index outbox_waiting on fairmill.outbox (tenant, channel, order_key, id) where waiting is not null;
create index outbox_recheck on fairmill.outbox (id) where recheck;
-- What is under way, and what an operator must look at.
create index outbox_unsent on fairmill.outbox (status, id) where status <> 'sent';
-- Retention removes them oldest first. Not those that need review: they wait for an operator's word.
create index outbox_age on fairmill.outbox (ended_at) where ended_at is not null and status <> 'unknown';

-- Deliveries as they are on record: a row for each answer of a receiver that it took the message, and one for a message
-- that has none. So a key that is there twice was delivered twice:
--   select idempotency_key from fairmill.channel_outbox group by idempotency_key having count(*) > 1
-- The key is that of the whole outbox: tenant, channel and the publisher's key, which may be the same for two tenants
-- or channels.
create view fairmill.channel_outbox as
select o.id, o.tenant, o.channel, concat_ws('/', o.tenant, o.channel, o.idempotency_key) as idempotency_key,
  o.idempotency_key as message_key, o.status, (taken.attempt ->> 'at')::timestamptz as sent_at,
  taken.attempt ->> 'worker' as worker, o.created_at, o.ended_at
from fairmill.outbox o
left join lateral (
  select a.attempt from jsonb_array_elements(o.attempts) as a (attempt)
    where a.attempt ->> 'outcome' = 'sent') taken on true;

------------------------------------------------------------------------------------------------------------------------
-- Batches and flows
------------------------------------------------------------------------------------------------------------------------

-- A batch is over when it has no live member, no batch inside that is not over, and no hold. A flow is a batch whose
-- nodes are batches; a node waits for the nodes before it, then enqueues its jobs.
create table fairmill.batch (
  id            bigint generated always as identity primary key,
  -- the outermost batch around it, or itself: that row is the lock of the whole tree
  root          bigint      not null,
  parent        bigint,                           -- the batch that is not over before this one
  role          text collate "C" not null default 'batch',
  state         text collate "C" not null,
  tenant        text collate "C" not null,
  name          text,
  -- Members that ended, by the tree's lock.
  done          integer     not null default 0,
  dead          integer     not null default 0,
  cancelled     integer     not null default 0,
  failed        integer     not null default 0,   -- batches inside that failed, where that fails this one
  lost          integer     not null default 0,   -- holds that ran out: a producer did not finish adding
  callbacks     jsonb,                            -- success, complete, death: a job each, as enqueue_many_v1 takes it
  success_job   bigint,
  complete_job  bigint,
  death_job     bigint,
  -- Of a node.
  start_when    text collate "C",
  on_failure    text collate "C",
  jobs          jsonb,                            -- what it enqueues when it starts
  own_job       bigint,                           -- the first of them
  waits         integer     not null default 0,   -- nodes before it that are not over
  unmet         integer     not null default 0,   -- nodes before it that ended without letting it go on
  fails         integer     not null default 0,   -- nodes before it that failed
  -- Coordination with producers from outside.
  window_ms     integer,                          -- no new member for so long, and it is over; null: at once
  max_wait_ms   integer,
  poll_ms       integer,
  registered_at timestamptz,                      -- when the newest member that ended was added
  closed_at     timestamptz,                      -- since when it only waits for more members
  check_at      timestamptz,                      -- upkeep looks at it then
  cancel_requested_at timestamptz,
  created_at    timestamptz not null default now(),
  started_at    timestamptz,
  ended_at      timestamptz,
  constraint batch_role_is_known check (role in ('batch', 'flow', 'node')),
  constraint batch_state_is_known check (state in ('waiting', 'pending', 'succeeded', 'failed', 'cancelled',
    'skipped')),
  constraint batch_state_fits check ((ended_at is null) = (state in ('waiting', 'pending'))),
  constraint batch_node_fits check ((role = 'node') = (start_when is not null)
    and (role = 'node') = (on_failure is not null)
    and (state <> 'waiting' or role = 'node')),
  constraint batch_rules_are_known check (start_when in ('succeeded', 'settled', 'failed')
    and on_failure in ('fail', 'skip', 'continue')),
  constraint batch_counts_fit check (least(done, dead, cancelled, failed, lost, waits, unmet, fails) >= 0),
  constraint batch_names_fit check (octet_length(tenant) between 1 and 200 and octet_length(name) <= 200)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create index batch_inside on fairmill.batch (parent, id) where parent is not null;
-- Lists: newest first, without the nodes, of which there may be millions.
create index batch_listed on fairmill.batch (id) where role <> 'node';
create index batch_to_check on fairmill.batch (check_at) where check_at is not null;
-- Retention removes whole trees, oldest first.
create index batch_over on fairmill.batch (ended_at) where parent is null and ended_at is not null;
-- Its condition is another than that of batch_inside, so that a look for a parent never takes this one.
create index batch_tree on fairmill.batch (root) where root <> id;
-- From the job of a callback to its batch.
create index batch_success_job on fairmill.batch (success_job) where success_job is not null;
create index batch_complete_job on fairmill.batch (complete_job) where complete_job is not null;
create index batch_death_job on fairmill.batch (death_job) where death_job is not null;

-- A node and one that waits for it: both ways, forward to start, backward to count again.
create table fairmill.batch_edge (
  before        bigint      not null,
  after         bigint      not null,
  primary key (before, after)
);
create index batch_edge_after on fairmill.batch_edge (after);

-- A producer from outside holds the batch open until it says that it is done, or until its time is up.
create table fairmill.batch_hold (
  id            bigint generated always as identity primary key,
  batch         bigint      not null,
  until         timestamptz not null
);
create index batch_hold_batch on fairmill.batch_hold (batch, until);

------------------------------------------------------------------------------------------------------------------------
-- Schedules
------------------------------------------------------------------------------------------------------------------------

-- Jobs that are enqueued by the clock. When a schedule ticks is computed by workers (cron expressions, time zones);
-- that a tick makes one job is kept here.
create table fairmill.schedule (
  name          text collate "C" primary key,
  cron          text        not null,
  timezone      text        not null,
  job           jsonb       not null,                 -- as enqueue_many_v1 takes it; its payload may be sealed
  -- of ticks that no worker saw in time, the latest so many are made up for
  missed_max    integer     not null default 0,
  jitter_ms     bigint      not null default 0,
  fingerprint   text        not null,                 -- of the definition: declaring the same one again changes nothing
  next_at       timestamptz not null,                 -- the first tick that is not done
  not_before    timestamptz,                          -- ticking failed: not before this time again
  last_tick_at  timestamptz,
  last_job_id   bigint,
  last_error    jsonb,                                -- why the last tick made no job, or why ticking fails
  paused_at     timestamptz,
  -- raised by every change: a tick computed from an older one does nothing
  revision      bigint      not null default 1,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now(),   -- of the definition
  -- When the next tick was computed, by the database's clock. A time in the future says that the clock has gone back
  -- since: the tick may lie as far ahead as the clock was wrong, and is computed again (reset_schedule_v1).
  moved_at      timestamptz not null default clock_timestamp(),
  constraint schedule_name_fits check (octet_length(name) between 1 and 200),
  constraint schedule_job_is_one check (jsonb_typeof(job) = 'object' and job ? 'kind'
    and not job ?| '{run_at,delay_ms,idempotency_key}'),
  constraint schedule_missed_fits check (missed_max between 0 and 1000),
  constraint schedule_jitter_fits check (jitter_ms between 0 and 3153600000000),
  constraint schedule_job_fits check (pg_column_size(job) <= 2 * 1024 * 1024 + 8192)
) with (fillfactor = 50);
-- What is due first.
create index schedule_due on fairmill.schedule (greatest(next_at, not_before)) where paused_at is null;
-- Upkeep asks for the latest one.
create index schedule_moved on fairmill.schedule (moved_at) where paused_at is null;

-- Each tick once, whichever worker computes it: no two rows have the same schedule and time.
create table fairmill.schedule_tick (
  -- no foreign key: a schedule that is removed and made again does not repeat a tick
  schedule      text collate "C" not null,
  tick_at       timestamptz not null,                 -- the time that the expression names
  job_id        bigint,                               -- what it made, or whose unique key was in the way
  refused       jsonb,                                -- what did not let the job in
  made_at       timestamptz not null default clock_timestamp(),
  primary key (schedule, tick_at)
);
-- Of which tick a job is.
create index schedule_tick_job on fairmill.schedule_tick (job_id) where job_id is not null;
-- Retention removes them oldest first.
create index schedule_tick_age on fairmill.schedule_tick (made_at);
