-- Gates: what a job must pass before it may start. Settings stand in gate and key_rule and change rarely; what is spent, and the lock
-- under which it is counted, stands in meter.

-- Functions that answer more than before are made anew.
drop function if exists fairmill.claim_v1(text, text, integer, integer, text[]);
drop function if exists fairmill.lanes_v1(text, smallint, text, integer);
drop function if exists fairmill.news_v1(text[], bigint, integer);
drop function if exists fairmill.settle_v1(text, bigint[], integer[], text[], jsonb);
drop function if exists fairmill.settle_waiting_v1(text, bigint[], integer[], text[], jsonb);
drop function if exists fairmill.end_jobs_v1(bigint[], text, jsonb, boolean);
drop function if exists fairmill.enqueue_many_v1(jsonb, jsonb, boolean);
drop function if exists fairmill.enqueue_v1(text, jsonb, text, text, integer, timestamptz, interval, interval, integer, text, text);

alter table fairmill.job
  add column limit_key  text collate "C",  -- whose places and allowance it uses: kind, or kind and tenant, or kind, tenant and key, as JSON
  add column slot       integer,           -- the place it holds under its key's limit; null: none
  add column counted    smallint,          -- the caps that this run counts for: 1 tenant, 2 queue, 4 kind; null: none
  add column throttled  integer,           -- how often a rate put it back
  add column put_back   boolean,           -- the rate of its key put it back, and it has not started since
  add constraint job_slot_fits check (case
    when state = 'blocked' then limit_key is not null and slot is null
    when slot is not null then limit_key is not null
    else true end);

-- A place is held once: whatever a function does, two jobs never share one.
create unique index job_slot on fairmill.job (limit_key, slot) where slot is not null;
-- Who waits for a place, best first.
create index job_blocked on fairmill.job (limit_key, priority desc, id) where state = 'blocked';
-- Who was put back by the rate of its key, and until when.
create index job_throttled on fairmill.job (limit_key, run_at) where state = 'scheduled' and put_back;
-- What runs under a cap. Jobs without one are in none of these.
create index job_running_tenant on fairmill.job (tenant) where state = 'running' and counted & 1 = 1;
create index job_running_queue on fairmill.job (queue) where state = 'running' and counted & 2 = 2;
create index job_running_kind on fairmill.job (kind) where state = 'running' and counted & 4 = 4;

alter table fairmill.job_history
  add column limit_key text collate "C",
  add column throttled integer;

-- Settings of a queue, a kind or a tenant. A row that says nothing special is not kept.
create table fairmill.gate (
  scope         text collate "C" not null,
  name          text collate "C" not null,
  weight        float8      not null default 1,      -- tenants: their part of the service
  max_running   integer,                             -- at most so many at once, across the fleet
  rate_limit    integer,                             -- at most so many in rate_per_ms
  rate_per_ms   bigint,
  rate_how      text collate "C",                    -- window: in every sliding window; uniform: one every rate_per_ms / rate_limit
  rate_at       text collate "C",                    -- start: the job waits; enqueue: it is refused
  paused_at     timestamptz,
  changed_at    timestamptz not null default now(),
  primary key (scope, name),
  constraint gate_scope_is_known check (scope in ('queue', 'kind', 'tenant')),
  constraint gate_name_fits check (octet_length(name) between 1 and 200),
  constraint gate_weight_fits check (weight between 0.01 and 1000 and (weight = 1 or scope = 'tenant')),
  constraint gate_max_running_fits check (max_running between 0 and 1000000),
  -- A check that is null is passed: so the parts that are missing are asked for.
  constraint gate_rate_fits check (case when rate_limit is null then coalesce(rate_per_ms::text, rate_how, rate_at) is null
    else coalesce(rate_limit between 1 and 1000000 and rate_per_ms between 1 and 2592000000 and rate_how in ('window', 'uniform') and rate_at in ('start', 'enqueue'), false) end)
);
create index gate_weighted on fairmill.gate (scope, name) where weight <> 1;
-- Is there any gate that a claim, or an enqueue, must look at? One probe says no.
create index gate_at_start on fairmill.gate (scope, name) where paused_at is not null or max_running is not null or rate_at = 'start';
create index gate_at_enqueue on fairmill.gate (scope, name) where rate_at = 'enqueue';

-- What the definition of a kind says about its keys.
create table fairmill.key_rule (
  kind          text collate "C" primary key,
  per           text collate "C" not null default 'key',    -- what a limit_key is made of: key (with kind and tenant), tenant (with kind), kind
  max_running   integer,
  when_full     text collate "C" not null default 'wait',   -- wait: the job is blocked; refuse: it is not taken
  rate_limit    integer,
  rate_per_ms   bigint,
  rate_how      text collate "C",
  rate_at       text collate "C",
  constraint key_rule_kind_fits check (octet_length(kind) between 1 and 200),
  constraint key_rule_per_is_known check (per in ('key', 'tenant', 'kind')),
  constraint key_rule_when_full_is_known check (when_full in ('wait', 'refuse')),
  constraint key_rule_max_running_fits check (max_running between 1 and 10000),
  constraint key_rule_rate_fits check (case when rate_limit is null then coalesce(rate_per_ms::text, rate_how, rate_at) is null
    else coalesce(rate_limit between 1 and 1000000 and rate_per_ms between 1 and 2592000000 and rate_how in ('window', 'uniform') and rate_at in ('start', 'enqueue'), false) end)
);
create index key_rule_at_start on fairmill.key_rule (kind) where rate_at = 'start';

-- The lock of a gate or key, and what was spent of its rate. Made on demand, removed when idle. Enqueues have meters of their own: a
-- transaction of the caller may hold them for long, and no claim or settle may wait for that.
create table fairmill.meter (
  use           text collate "C" not null,           -- start | enqueue
  scope         text collate "C" not null,           -- queue | kind | tenant | key
  name          text collate "C" not null,           -- of a key: its limit_key
  spent_at      timestamptz[],                       -- window: moments, rounded up; uniform: the last one alone
  spent         integer[],                           -- how many at each of them
  recheck       boolean     not null default false,  -- somebody may be blocked although a place is free: upkeep looks
  used_at       timestamptz not null default now(),
  primary key (use, scope, name)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
create index meter_recheck on fairmill.meter (name) where recheck;
create index meter_idle on fairmill.meter (used_at);
