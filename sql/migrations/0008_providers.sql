-- Providers: services outside that handlers call, with limits and a breaker for the whole fleet, and what calls cost.
-- A job that calls none pays for none of it.

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
