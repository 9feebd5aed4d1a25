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
  rate_limited_times integer,                     -- how often a rate put it back
  rate_limited  boolean,                          -- the rate of its key put it back, and it has not started since
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
  -- What a run of it takes of named limits: [{"limit", "key", "units": {"tokens": 1500}}, …]. Under used what its
  -- handler has said so far, with the lease under which it did.
  uses          jsonb,
  -- the limit and key for whose units it waits, from the claim that delayed it to the one that starts it
  waits_for     text collate "C",
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
-- What waits for units of a named limit, and until when.
create index job_waits_for on fairmill.job (waits_for, run_at) where aside = 'scheduled' and waits_for is not null;
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
  refusal         jsonb,        -- why it is not stored; null: nothing stands against it
  uses            jsonb         -- what it takes of named limits
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
  rate_limited_times integer,
  rerun_of      bigint,
  reservation   bigint,
  outbox        bigint,
  batch         bigint,
  timeout_ms    bigint,
  tags          text[],
  trace         text,
  uses          jsonb,
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
-- Numbers in a row do not get much shorter, and every claim would wait for the compression. (A create table that says
-- so itself is for PostgreSQL 16 and newer.)
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
  defined_max_running integer,                          -- of a kind: what its definition says
  -- A pause may have an end. It ends by the database's clock: readers compare it with now, and no worker has to act.
  paused_until     timestamptz,
  primary key (scope, name),
  constraint limit_setting_scope_is_known check (scope in ('queue', 'kind', 'tenant')),
  constraint limit_setting_name_fits check (octet_length(name) between 1 and 200),
  constraint limit_setting_weight_fits check (weight between 0.01 and 1000 and (weight = 1 or scope = 'tenant')),
  constraint limit_setting_max_running_fits check (max_running between 0 and 1000000),
  constraint limit_setting_pause_fits check (paused_until is null
    or (paused_at is not null and isfinite(paused_until))),
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
-- Which pause ends next? And has one ended that upkeep has not cleared yet?
create index limit_setting_pause_end on fairmill.limit_setting (paused_until) where paused_until is not null;

-- limit_setting as it holds now: a pause whose end has passed is none. Between its end and the next upkeep, which
-- clears it, the table still has it.
create view fairmill.limit_in_force as
  select s.scope, s.name, s.weight, s.max_running, s.set_max_running, s.defined_max_running, s.rate_limit,
    s.rate_per_ms, s.rate_how, s.rate_at, case when s.paused_until <= now() then null else s.paused_at end as paused_at,
    case when s.paused_until > now() then s.paused_until end as paused_until
  from fairmill.limit_setting s;

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
  reported_at      timestamptz not null,               -- by the database's clock: the last report is right
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
-- not adopted yet.
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

-- Named limits: windows of units (requests, tokens, pages) that jobs of any kinds share. A job that uses none pays
-- nothing for them. Each report of a definition is a row of its own, so that no session waits for another one's commit;
-- the last one is in force, and upkeep removes the others (adopt_limits).
create table fairmill.named_limit (
  id            bigint      generated always as identity primary key,
  name          text collate "C" not null,
  -- [{"unit", "limit", "per_ms", "n"}, …]: n tells windows of the same unit apart, in the order of the definition
  windows       jsonb       not null,
  reported_at   timestamptz not null,
  constraint named_limit_name_fits check (octet_length(name) between 1 and 200),
  constraint named_limit_windows_fit check (jsonb_typeof(windows) = 'array' and jsonb_array_length(windows) between 1
    and 20)
);
create index named_limit_order on fairmill.named_limit (name, reported_at desc, id desc);

-- The lock of a limit or key, and what was spent of its rate. Made on demand, removed when idle. Enqueues have meters
-- of their own: a transaction of the caller may hold them for long, and no claim or settle may wait for that.
create table fairmill.meter (
  use           text collate "C" not null,           -- start | enqueue | freed: only a mark for upkeep
  scope         text collate "C" not null,           -- queue | kind | tenant | key | limit
  -- of a key: its limit_key; of a named limit: limit, key, unit and n of the window as JSON
  name          text collate "C" not null,
  spent_at      timestamptz[],                       -- window: times, rounded up; uniform: the last one alone
  spent         integer[],                           -- how many at each of them
  recheck       boolean     not null default false,  -- a job may be blocked although a slot is free: upkeep looks
  used_at       timestamptz not null default now(),
  -- of a cap: all jobs that run under it, and some that have ended since
  running_ids   bigint[],
  -- What was used of a named limit beyond what the window holds: it counts as soon as there is room (pay_debt). Until
  -- then no job starts under it.
  owed          bigint,
  primary key (use, scope, name),
  constraint meter_owed_fits check (owed > 0)
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
-- Jobs that wait for a signal, oldest first: the inbox of approvals. Steps that run or sleep have no entry here.
create index step_awaited on fairmill.step (job_id)
  where kind = 'wait' and finished_at is null and signalled_at is null;

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
  reservation_id bigint,                                  -- of an end: the reservation that it ends
  job_id        bigint,
  -- of a grant: the same key grants once; of a refund: it names the reservation, so what was captured goes back once
  key           text collate "C",
  reason        text,
  created_at    timestamptz not null default clock_timestamp(),
  -- of a capture: what of the reservation was not used and goes back, so that the end of a reservation stays one row
  returned      bigint,
  constraint credit_entry_kind_is_known check (kind in ('grant', 'reservation', 'capture', 'release', 'refund')),
  constraint credit_entry_returned_fits check (returned is null or kind = 'capture' and returned between 1 and amount),
  constraint credit_entry_amount_fits check (amount between 1 and 1000000000000),
  constraint credit_entry_is_whole check (case
    when kind in ('capture', 'release') then reservation_id is not null and job_id is not null
    when kind = 'reservation' then reservation_id is null and job_id is not null
    when kind = 'refund' then reservation_id is null and job_id is not null and key is not null
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
  reference     text,                               -- what the publisher wants to be told with its end: a job, an order
  constraint outbox_reference_fits check (octet_length(reference) between 1 and 200),
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
  -- a second call with the same key answers with what the first one made, for as long as that is kept
  idempotency_key text collate "C",
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
  constraint batch_names_fit check (octet_length(tenant) between 1 and 200 and octet_length(name) <= 200),
  constraint batch_idempotency_key_fits check (length(idempotency_key) between 1 and 500)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create unique index batch_idempotency on fairmill.batch (tenant, role, idempotency_key)
  where idempotency_key is not null;
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
  -- As enqueue_many_v1 takes it; its payload may be sealed. A schedule that starts flows has a member flow in it, as
  -- start_flow_v1 takes it.
  job           jsonb       not null,
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
  edited_at     timestamptz,                        -- by hand; null: as the code declared it
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
  flow_id       bigint,                               -- the flow that it started
  primary key (schedule, tick_at)
);
-- Of which tick a job is.
create index schedule_tick_job on fairmill.schedule_tick (job_id) where job_id is not null;
-- Retention removes them oldest first.
create index schedule_tick_age on fairmill.schedule_tick (made_at);

------------------------------------------------------------------------------------------------------------------------
-- Providers: services outside that handlers call, with limits and a breaker for the whole fleet, and what calls cost.
-- A job that calls none pays for none of it.
------------------------------------------------------------------------------------------------------------------------

-- One row per provider: settings as its definition says, and the state that all workers share. It is the lock of that
-- state: grants of calls, the breaker and closings change under it.
create table fairmill.provider (
  name              text collate "C" primary key,
  -- as the definition that was reported last says
  per_second        float8,                         -- at most so many calls begin in any second; null: no limit
  in_flight         integer,                        -- at most so many calls at once; null: no limit
  in_flight_before  integer,                        -- a higher limit, until the calls begun under it are over
  timeout_ms        bigint      not null,           -- of one call
  breaker_rate      float8      not null,           -- the share of failed calls that trips it
  breaker_calls     integer     not null,           -- of at least so many
  breaker_window_ms bigint      not null,           -- in this time
  breaker_open_ms   bigint      not null,           -- before a probe is let through
  currency          text collate "C" not null,
  defined_at        timestamptz not null default now(),
  -- the breaker: closed lets calls through; open does not; half-open while a probe is under way
  breaker           text collate "C" not null default 'closed',
  breaker_at        timestamptz not null default now(),
  probe_no          bigint      not null default 0, -- the last probe
  probe_worker      text collate "C",               -- which worker makes it: exactly while it is half-open
  probe_until       timestamptz,                    -- after that it counts as lost, and another may begin
  -- No call begins before this time; null: the provider is open. A breaker that is not closed has one, past or not.
  closed_until      timestamptz,
  closed_why        text collate "C",               -- breaker | rate-limit | hand
  closed_note       text,
  -- claims take one job of its kinds, as a probe, and no other until then
  try_until         timestamptz,
  -- more calls wait than begin in a second: claims take no jobs of its kinds until then
  crowded_until     timestamptz,
  next_start_at     timestamptz not null default '-infinity', -- of the next call, by its pace
  -- results of the running half of the breaker's window, and of the half before
  window_at         timestamptz not null default now(),
  calls             integer     not null default 0,
  failures          integer     not null default 0,
  calls_before      integer     not null default 0,
  failures_before   integer     not null default 0,
  constraint provider_name_fits check (octet_length(name) between 1 and 200),
  constraint provider_limits_fit check (per_second > 0 and per_second <= 100000 and in_flight between 1 and 100000),
  constraint provider_breaker_fits check (breaker_rate > 0 and breaker_rate <= 1 and breaker_calls >= 1
    and breaker_window_ms >= 1 and breaker_open_ms >= 1 and timeout_ms >= 1),
  constraint provider_breaker_is_known check (breaker in ('closed', 'open', 'half-open')),
  constraint provider_has_one_probe check ((breaker = 'half-open') = (probe_worker is not null)
    and (probe_worker is null) = (probe_until is null)),
  constraint provider_closing_fits check ((closed_until is null) = (closed_why is null)
    and (breaker = 'closed' or closed_until is not null)
    and coalesce(closed_why in ('breaker', 'rate-limit', 'hand'), true))
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
-- Is there a provider that a claim must look at? One probe says no.
create index provider_closed on fairmill.provider (name) where closed_until is not null or crowded_until is not null;

-- Which providers a kind cannot do without: a list of chains, of each of which one must be open.
create table fairmill.provider_need (
  kind          text collate "C" primary key,
  chains        jsonb       not null,               -- [["gemini", "second"], ["pixian"]]
  constraint provider_need_fits check (octet_length(kind) between 1 and 200 and jsonb_typeof(chains) = 'array')
);

-- The calls in flight that a worker may have at a provider. Those of a worker that is not alive count no more.
create table fairmill.provider_share (
  provider      text collate "C" not null,
  worker        text collate "C" not null,
  permits       integer     not null,
  waiting       integer     not null default 0,     -- calls of this worker that wait for their turn
  turn_until    timestamptz not null default '-infinity', -- it keeps its permits until then, whatever waits elsewhere
  served_at     timestamptz not null default '-infinity',
  primary key (provider, worker),
  constraint provider_share_fits check (permits >= 0 and waiting >= 0)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- Every change of a provider's state, once.
create table fairmill.provider_event (
  id            bigint      generated always as identity primary key,
  provider      text collate "C" not null,
  at            timestamptz not null default clock_timestamp(),
  event         text collate "C" not null,
  until         timestamptz,
  worker        text collate "C",
  detail        jsonb,
  constraint provider_event_is_known check (event in
    ('tripped', 'probing', 'recovered', 'probe-failed', 'rate-limited', 'closed', 'opened', 'reset'))
);
create index provider_event_order on fairmill.provider_event (provider, id);
create index provider_event_age on fairmill.provider_event (at);

-- Calls and their latencies by minute. The bounds of the buckets are those of latency_bounds().
create table fairmill.provider_minute (
  provider      text collate "C" not null,
  minute        timestamptz not null,
  calls         integer     not null,
  failures      integer     not null,
  limited       integer     not null,
  sum_ms        float8      not null,
  max_ms        float8      not null,
  buckets       integer[]   not null,
  primary key (provider, minute)
);
create index provider_minute_age on fairmill.provider_minute (minute);

-- A call that costs something. On record before it begins, with what it is expected to cost.
create table fairmill.provider_charge (
  id            text collate "C" primary key,       -- made by the worker, so that a repeated write changes nothing
  job_id        bigint      not null,
  provider      text collate "C" not null,
  tenant        text collate "C" not null,
  kind          text collate "C" not null,
  worker        text collate "C" not null,
  day           date        not null,               -- in UTC
  currency      text collate "C" not null,
  cost          numeric     not null,
  -- begun: under way, or its worker died in the middle; unknown: it was cut, and may have been paid
  state         text collate "C" not null default 'begun',
  begun_at      timestamptz not null default clock_timestamp(),
  ended_at      timestamptz,
  constraint provider_charge_state_is_known check (state in ('begun', 'paid', 'unknown', 'void')),
  constraint provider_charge_end_fits check ((state = 'begun') = (ended_at is null)),
  constraint provider_charge_cost_fits check (cost >= 0 and cost <= 1000000000 and (state <> 'void' or cost = 0)),
  constraint provider_charge_names_fit check (octet_length(id) between 1 and 200)
);
create index provider_charge_job on fairmill.provider_charge (job_id);
create index provider_charge_age on fairmill.provider_charge (begun_at);

-- What calls cost, by day. Always the sum of the charges of that day, those that are gone included.
create table fairmill.provider_cost (
  day           date        not null,
  tenant        text collate "C" not null,
  provider      text collate "C" not null,
  kind          text collate "C" not null,
  currency      text collate "C" not null,
  calls         bigint      not null,
  cost          numeric     not null,
  primary key (day, tenant, provider, kind, currency)
);

------------------------------------------------------------------------------------------------------------------------
-- Pools of processes: supervisors, their children, and what was decided about how many there should be
------------------------------------------------------------------------------------------------------------------------

-- One row per pool, for all its supervisors. What it says lets desired_workers_v1 answer also when none of them lives.
create table fairmill.pool (
  name          text collate "C" primary key,
  settings      jsonb       not null default '{}',  -- min, max, capacity, target_wait_ms, queues, kinds, mean_run_ms
  desired       integer,                            -- what the last decision wanted, over all hosts
  decided_at    timestamptz,
  decide_every  interval,                           -- an older decision than three of these is nobody's any more
  leader        text collate "C",                   -- the supervisor that scales what they share
  leader_until  timestamptz,
  constraint pool_name_fits check (octet_length(name) between 1 and 200)
);

create table fairmill.supervisor (
  id            text collate "C" primary key,
  pool          text collate "C" not null references fairmill.pool on delete cascade,
  worker        text collate "C",                   -- the worker that claims for it
  host          text,
  pid           integer,
  version       text,
  health        jsonb       not null default '{}',  -- by part: when it last succeeded, and what was restarted
  started_at    timestamptz not null,
  seen_at       timestamptz not null,
  report_every  interval    not null,
  constraint supervisor_id_fits check (length(id) between 1 and 200)
);
create index supervisor_pool on fairmill.supervisor (pool);
create index supervisor_seen on fairmill.supervisor (seen_at);

create table fairmill.child (
  supervisor    text collate "C" not null references fairmill.supervisor on delete cascade,
  number        integer     not null,
  pid           integer,
  state         text collate "C" not null,
  draining      boolean     not null,
  reason        text,                               -- how its last process ended, or why it is being ended
  failures      integer     not null,               -- in a row
  running       integer     not null,
  jobs_processed bigint     not null,
  cpu           float8      not null,               -- 1: one core
  memory_bytes  bigint      not null,
  uptime        interval    not null,
  started_at    timestamptz not null,
  changed_at    timestamptz not null,               -- when its state was last another one
  constraint child_state_is_known check (state in ('idle', 'ready', 'working', 'failed', 'terminated')),
  primary key (supervisor, number)
);

-- What the autoscaler decided, and what it would have decided if nothing had stood against it.
create table fairmill.scale_decision (
  id            bigint      generated always as identity primary key,
  pool          text collate "C" not null references fairmill.pool on delete cascade,
  supervisor    text collate "C" not null,
  action        text collate "C" not null,          -- up | down | suppressed
  current       integer     not null,
  wanted        integer     not null,
  target        integer     not null,
  reason        text        not null,
  inputs        jsonb       not null,
  at            timestamptz not null,
  last_at       timestamptz not null,               -- the same again, up to this time
  times         integer     not null default 1,
  constraint scale_decision_action_is_known check (action in ('up', 'down', 'suppressed')),
  constraint scale_decision_changes_something check ((action = 'suppressed') = (target = current))
);
create index scale_decision_pool on fairmill.scale_decision (pool, id);

------------------------------------------------------------------------------------------------------------------------
-- Intervals: what ticks and long-running workers did. The one source of figures for metrics, alerts and the dashboard:
-- a job pays nothing for it
------------------------------------------------------------------------------------------------------------------------

-- A row for each tick, and one for each interval of a worker. All of a row is bounded.
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

------------------------------------------------------------------------------------------------------------------------
-- Metrics
------------------------------------------------------------------------------------------------------------------------

-- Figures that only the application or one process knows: how long a provider took, how much is stored. Sums over a
-- short time each.
create table fairmill.metric_sample (
  id            bigint      generated always as identity primary key,
  name          text collate "C" not null,
  label         text collate "C" not null default '',
  at            timestamptz not null default now(),
  count         integer     not null default 1,
  sum           float8      not null,
  max           float8      not null,
  constraint metric_sample_names_fit check (octet_length(name) between 1 and 100 and octet_length(label) <= 200),
  constraint metric_sample_count_fits check (count >= 1)
);
create index metric_sample_name on fairmill.metric_sample (name, at);
create index metric_sample_age on fairmill.metric_sample (at);

-- What the whole fleet looked like at a moment: what keeps the jobs that wait, and what the workers use. A row a round
-- of evaluating alerts, bounded whatever there is; a job pays nothing for it.
create table fairmill.fleet_sample (
  id            bigint      generated always as identity primary key,
  at            timestamptz not null default now(),
  is_more       boolean     not null default false, -- the counts are lower bounds
  -- name → reason → how many jobs wait for it; the 50 names with most, "" is the rest
  queues        jsonb       not null default '{}',
  kinds         jsonb       not null default '{}',
  tenants       jsonb       not null default '{}',
  workers       jsonb       not null default '{}',  -- worker → {"cpu", "memory"}; "" is the rest, added up
  constraint fleet_sample_is_small check (pg_column_size(queues) + pg_column_size(kinds) + pg_column_size(tenants)
    + pg_column_size(workers) <= 256 * 1024)
);
create index fleet_sample_age on fairmill.fleet_sample (at);

------------------------------------------------------------------------------------------------------------------------
-- Alerts
------------------------------------------------------------------------------------------------------------------------

-- Whose round of evaluating alerts it is: one worker at a time, and each round once.
create table fairmill.alert_round (
  only_row      boolean     primary key default true constraint alert_round_is_one check (only_row),
  round_no      bigint      not null default 0,
  begun_at      timestamptz not null default '-infinity',
  worker        text collate "C"
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
insert into fairmill.alert_round default values;

-- The rules as the worker that evaluated last knows them: for those who only look.
create table fairmill.alert_rule (
  name          text collate "C" primary key,
  settings      jsonb       not null,
  changed_at    timestamptz not null default now()
);

create table fairmill.alert (
  id            bigint      generated always as identity primary key,
  rule          text collate "C" not null,
  subject       text        not null,               -- what of: a queue, a kind, a worker
  severity      text collate "C" not null,
  state         text collate "C" not null,
  message       text        not null,
  value         float8      not null,               -- the latest one
  threshold     float8      not null,
  unit          text collate "C" not null,
  since         timestamptz not null,               -- over the threshold since
  fired_at      timestamptz,
  clear_since   timestamptz,                        -- while it fires: below the threshold since
  resolved_at   timestamptz,
  constraint alert_severity_is_known check (severity in ('info', 'warning', 'critical')),
  constraint alert_state_fits check (case state
    when 'pending' then fired_at is null and resolved_at is null
    when 'firing' then fired_at is not null and resolved_at is null
    when 'resolved' then fired_at is not null and resolved_at is not null
    else false end),
  constraint alert_names_fit check (octet_length(rule) between 1 and 200 and octet_length(subject) <= 500)
);
-- A rule has one open alert for each subject.
create unique index alert_open on fairmill.alert (rule, subject) where state <> 'resolved';
create index alert_age on fairmill.alert (resolved_at) where state = 'resolved';

-- Every change, once. What is sent of it carries its id as the key.
create table fairmill.alert_event (
  id            bigint      generated always as identity primary key,
  alert_id      bigint      not null,
  at            timestamptz not null default now(),
  change        text collate "C" not null,
  value         float8      not null,
  silenced      boolean     not null default false, -- on record, but not sent
  constraint alert_event_change_is_known check (change in ('fired', 'resolved'))
);
-- An alert fires once and is resolved once; the next time it is another alert.
create unique index alert_event_once on fairmill.alert_event (alert_id, change);

create table fairmill.alert_silence (
  id            bigint      generated always as identity primary key,
  rule          text collate "C",                   -- null: every rule
  subject       text,                               -- null: every subject
  until         timestamptz not null,
  reason        text,
  actor         text,
  created_at    timestamptz not null default now()
);
create index alert_silence_until on fairmill.alert_silence (until);

------------------------------------------------------------------------------------------------------------------------
-- Logs: a job that logs nothing pays nothing for them
------------------------------------------------------------------------------------------------------------------------

-- Lines that handlers wrote with ctx.log. No foreign key: the job moves to the history, its lines stay where they are.
create table fairmill.job_log (
  job_id        bigint      not null,
  id            bigint      generated always as identity,
  at            timestamptz not null,               -- by the worker's clock
  level         text collate "C" not null,
  attempt       smallint    not null,
  bytes         integer     not null,               -- of the line as JSON text
  line          jsonb       not null,               -- {"message", "fields"}; sealed where the worker has a codec
  cut           boolean     not null default false, -- says that further lines were not kept
  primary key (job_id, id),
  constraint job_log_level_is_known check (level in ('debug', 'info', 'warn', 'error')),
  constraint job_log_line_fits check (bytes >= 0 and pg_column_size(line) <= 64 * 1024)
);
create index job_log_age on fairmill.job_log (at);

------------------------------------------------------------------------------------------------------------------------
-- Audit: every action of people, with its actor
------------------------------------------------------------------------------------------------------------------------

-- Written before the action and completed after it: an outcome that is null means that the process ended in between.
create table fairmill.audit_event (
  id            bigint generated always as identity primary key,
  at            timestamptz not null default clock_timestamp(),
  actor         text collate "C" not null,
  role          text collate "C",
  via           text collate "C" not null,             -- http | cli | library
  action        text collate "C" not null,             -- job.cancel, tenant.set …
  subject       text collate "C" not null,             -- job 17, tenant acme …
  tenant        text collate "C",                      -- whose thing it is, where that is known
  detail        jsonb       not null default '{}',
  outcome       text collate "C",                      -- done | refused | failed
  error         text,
  constraint audit_event_actor_fits check (octet_length(actor) between 1 and 200),
  constraint audit_event_via_is_known check (via in ('http', 'cli', 'library')),
  constraint audit_event_action_fits check (octet_length(action) between 1 and 100),
  constraint audit_event_subject_fits check (octet_length(subject) between 1 and 400),
  constraint audit_event_detail_fits check (pg_column_size(detail) <= 16384),
  constraint audit_event_outcome_known check (outcome in ('done', 'refused', 'failed')),
  constraint audit_event_error_fits check (octet_length(error) <= 8192)
);

------------------------------------------------------------------------------------------------------------------------
-- Bulk: actions on all jobs that fit a filter, as rows that any process can go on with
------------------------------------------------------------------------------------------------------------------------

create table fairmill.bulk_action (
  id            bigint generated always as identity primary key,
  action        text collate "C" not null,
  filter        jsonb       not null,                  -- as pick_jobs reads it
  actor         text collate "C" not null,
  tenant        text collate "C",                      -- of the credential that started it; null: of no single tenant
  reason        text,
  state         text collate "C" not null default 'running',
  after_id      bigint      not null default 0,        -- jobs up to here are done
  up_to_id      bigint      not null,                  -- the newest job when it began: later ones are not touched
  seen          bigint      not null default 0,
  changed       bigint      not null default 0,
  -- they fitted, and something else was faster or stood against it
  skipped       bigint      not null default 0,
  error         text,
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  ended_at      timestamptz,
  constraint bulk_action_action_is_known check (action in ('cancel', 'retry', 'redrive', 'rerun')),
  constraint bulk_action_state_is_known check (state in ('running', 'done', 'stopped', 'failed')),
  constraint bulk_action_end_fits check ((ended_at is null) = (state = 'running')),
  constraint bulk_action_actor_fits check (octet_length(actor) between 1 and 200),
  constraint bulk_action_reason_fits check (octet_length(reason) between 1 and 2000),
  constraint bulk_action_filter_fits check (jsonb_typeof(filter) = 'object' and pg_column_size(filter) <= 262144)
) with (fillfactor = 50);
create index bulk_action_open on fairmill.bulk_action (id) where state = 'running';

------------------------------------------------------------------------------------------------------------------------
-- Cache
------------------------------------------------------------------------------------------------------------------------

-- What rarely changes and is asked for often, kept for all processes. A row is an entry, or the place of one that a
-- process is loading. Not logged: after a crash of the server the cache is empty, and is loaded again.
create unlogged table fairmill.cache_entry (
  name          text collate "C" not null,          -- of the cache
  key           text collate "C" not null,
  value         jsonb,                              -- null: it was never loaded
  fresh_until   timestamptz not null,               -- from then on it is loaded again; without a value: the past
  loader        text collate "C",                   -- the call that loads it now
  loading_until timestamptz,                        -- from then on another may load it
  primary key (name, key),
  constraint cache_entry_names_fit check (octet_length(name) between 1 and 200 and octet_length(key) <= 500),
  constraint cache_entry_loader_fits check ((loader is null) = (loading_until is null)),
  constraint cache_entry_value_fits check (value is null or pg_column_size(value) <= 2 * 1024 * 1024)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
create index cache_entry_age on fairmill.cache_entry (name, fresh_until);
create index cache_entry_stale on fairmill.cache_entry (fresh_until);

-- A job that may start once although its tenant, queue or kind is paused. A job without such a wish pays nothing.
create table fairmill.pause_exception (
  job_id       bigint      primary key,
  lease_no     bigint      not null, -- as it was: the wish is for one start
  queue        text        collate "C" not null,
  requested_at timestamptz not null default clock_timestamp()
);
create index pause_exception_queue on fairmill.pause_exception (queue, requested_at);
revoke all on fairmill.pause_exception from public;

-- How many ticks of a handler may work at once: a row for each place, held by a lease, so that a function that was
-- killed gives its place back by the clock.
create table fairmill.tick_slot (
  handler       text collate "C" not null,          -- which handler: a digest of its queues and kinds
  slot          integer     not null,
  worker        text collate "C",                   -- the tick that has it; null: nobody
  lease_until   timestamptz not null default '-infinity',
  used_at       timestamptz not null default now(),
  constraint tick_slot_handler_fits check (octet_length(handler) between 1 and 200),
  constraint tick_slot_is_counted check (slot between 1 and 1000),
  primary key (handler, slot)
);
revoke all on fairmill.tick_slot from public;

-- Retention by kind, state and tenant; erasing what is kept of a tenant. Without rules it costs one probe
-- of an empty table in upkeep, and nothing elsewhere.

-- How long ended jobs are kept, where that differs from the general age. An empty name means any; of the rules that fit
-- a job the most specific one holds: one that names the tenant, then one that names the kind, then the state; then one
-- that was set by hand before one that a config declares.
create table fairmill.retention_rule (
  tenant        text collate "C" not null default '',
  kind          text collate "C" not null default '',
  state         text collate "C" not null default '',
  source        text collate "C" not null default 'set',   -- set: by hand; declared: by the config of a worker
  keep_ms       bigint,                                     -- null: for ever
  changed_at    timestamptz not null default now(),
  primary key (tenant, kind, state, source),
  constraint retention_rule_names_fit check (octet_length(tenant) <= 200 and octet_length(kind) <= 200),
  constraint retention_rule_state_is_known check (state in ('', 'done', 'dead', 'cancelled')),
  constraint retention_rule_source_is_known check (source in ('set', 'declared')),
  constraint retention_rule_says_whose check (tenant <> '' or kind <> '' or state <> ''),
  constraint retention_rule_keep_fits check (keep_ms between 60000 and 3153600000000)
);

-- How far a walk along a partition of the history has come, for jobs that are kept this long. Changed with every step,
-- in the transaction that removes the rows.
create table fairmill.retention_walk (
  part          text collate "C" not null,          -- the partition
  keep_ms       bigint      not null,
  next_block    bigint      not null default 0,
  begun_at      timestamptz not null default now(), -- of the round that is under way, or of the last one
  moved_at      timestamptz not null default now(),
  ended_at      timestamptz,                        -- null: a round is under way
  removed       bigint      not null default 0,     -- of this round
  remaining     bigint      not null default 0,     -- rows of this round that stay
  busy          bigint      not null default 0,     -- of these, rows that another session had locked
  is_last       boolean     not null default false, -- nothing of these jobs is left: no further round
  primary key (part, keep_ms),
  constraint retention_walk_counts_fit check (least(next_block, removed, remaining, busy) >= 0)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- A tenant whose data is erased, step by step. The row stays as the record; when it is done it has no name in it.
create table fairmill.tenant_erasure (
  id            bigint      generated always as identity primary key,
  tenant        text collate "C",                   -- null once it is done
  tenant_digest text collate "C" not null,          -- SHA-256 of the name, to answer whether one was erased
  account       text collate "C",                   -- whose entries lose their name; null: none, or done
  cache_prefix  text,                               -- entries of caches whose keys begin so; null: none, or done
  file_prefix   text,                               -- files whose keys begin so; null: none, or done
  storages      text[]      not null default '{}',  -- names of the storages that have files of the tenant
  actor         text collate "C" not null,
  reason        text,
  state         text collate "C" not null default 'running',
  phase         text collate "C" not null default 'jobs',
  cursor        jsonb       not null default '{}',  -- where the phase goes on
  counts        jsonb       not null default '{}',  -- by table: rows removed, or made nameless
  error         text,
  created_at    timestamptz not null default clock_timestamp(),
  updated_at    timestamptz not null default clock_timestamp(),
  ended_at      timestamptz,
  constraint tenant_erasure_state_is_known check (state in ('running', 'done', 'failed')),
  constraint tenant_erasure_end_fits check ((ended_at is not null) = (state = 'done')),
  constraint tenant_erasure_is_nameless check ((tenant is null) = (state = 'done')
    and (state <> 'done' or coalesce(account, cache_prefix, file_prefix) is null)),
  constraint tenant_erasure_actor_fits check (octet_length(actor) between 1 and 200),
  constraint tenant_erasure_reason_fits check (octet_length(reason) between 1 and 2000)
) with (fillfactor = 50);
-- A tenant is erased by one at a time.
create unique index tenant_erasure_open on fairmill.tenant_erasure (tenant) where tenant is not null;
create index tenant_erasure_digest on fairmill.tenant_erasure (tenant_digest);

revoke all on fairmill.retention_rule, fairmill.retention_walk, fairmill.tenant_erasure from public;

-- Budgets: what the calls of a tenant may cost in a day or a month. And what is enqueued when a message has its end.

-- One row per budget: settings, and what was spent in the period that runs. It is the lock of that sum: charges of
-- calls change it in the transaction that records them. A tenant without one pays for none of it.
create table fairmill.budget (
  tenant        text collate "C" not null,
  per           text collate "C" not null,          -- day | month, of the calendar in its time zone
  provider      text collate "C" not null default '', -- only calls of this one; '': of all
  kind          text collate "C" not null default '', -- only calls of jobs of this kind; '': of all
  currency      text collate "C" not null default 'USD', -- only costs in this one
  time_zone     text        not null default 'UTC',
  soft          numeric,                            -- from here on it is told, and cheaper providers go first
  hard          numeric,                            -- no call begins that would lead beyond it
  period_from   timestamptz not null,
  period_until  timestamptz not null,
  spent         numeric     not null default 0,     -- in this period: calls that ended, and what others are expected to
  need          numeric,                            -- the cheapest call that found no room in this period
  refused_kinds text[]      not null default '{}',  -- kinds of such calls, besides those that need a provider
  soft_at       timestamptz,                        -- when it came to its soft threshold in this period
  closed_until  timestamptz,                        -- the end of the period, once there is no room for the next call
  changed_at    timestamptz not null default clock_timestamp(),
  primary key (tenant, per, provider, kind, currency),
  constraint budget_names_fit check (octet_length(tenant) between 1 and 200 and octet_length(provider) <= 200
    and octet_length(kind) <= 200 and octet_length(currency) between 3 and 10 and octet_length(time_zone) <= 100),
  constraint budget_per_is_known check (per in ('day', 'month')),
  constraint budget_says_something check (coalesce(soft, hard) is not null),
  constraint budget_amounts_fit check (soft > 0 and hard >= 0 and greatest(soft, hard) <= 1000000000000
    and soft <= hard),
  constraint budget_period_fits check (period_from < period_until and spent >= 0 and need > 0),
  constraint budget_closing_fits check (closed_until is null or hard is not null and closed_until = period_until)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
-- Is there a budget that a claim or an enqueue must look at? One probe says no, also where the period of many is over
-- and no call has begun since.
create index budget_closed on fairmill.budget (closed_until) where closed_until is not null;
revoke all on fairmill.budget from public;

-- What is enqueued when a message of a channel has its end, as the workers that send its messages said last.
create table fairmill.channel_end (
  channel       text collate "C" primary key,
  job           jsonb       not null,               -- as enqueue_many_v1 takes it, without payload and tenant
  constraint channel_end_fits check (octet_length(channel) between 1 and 180 and job ? 'kind'
    and pg_column_size(job) <= 8192)
);
revoke all on fairmill.channel_end from public;

-- Where payloads and results lie that are too large for their rows: which file belongs to which job. A file goes when
-- none of its jobs is left, live or ended. A key names no tenant: it has the digest of one.
create table fairmill.content (
  storage  text        collate "C" not null,           -- the name of a storage
  key      text        collate "C" not null,           -- of the file
  job_id   bigint      not null,                       -- a repetition of the job has the same file
  put_at   timestamptz not null default now(),
  check_at timestamptz not null default now() + interval '1 minute', -- then it is looked whether the job is there
  gone_at  timestamptz,                                -- when it was first seen that it is not
  primary key (storage, key, job_id),
  constraint content_names_fit check (octet_length(storage) between 1 and 200 and octet_length(key) between 1 and 500)
);
create index content_due on fairmill.content (storage, check_at);
revoke all on fairmill.content from public;
