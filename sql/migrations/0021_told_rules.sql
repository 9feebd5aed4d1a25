-- What was told about the limits of kinds, and when. A caller's transaction only adds a row here: key_rule has one row per kind, and whoever
-- wrote that in a transaction would make every other caller of the kind wait for its commit. Upkeep takes such rows over into key_rule and gate.
set local lock_timeout = '10s';

-- It takes all jobs at once, so that it can lock their accounts in the order of their names.
drop function if exists fairmill.hold_again_v1(bigint, bigint);

create table fairmill.told_rule (
  id               bigint      generated always as identity primary key,
  kind             text collate "C" not null,
  told_at          timestamptz not null,               -- by the database's clock: the rule that was told last is right
  taken            boolean     not null default false, -- key_rule and gate say it; of each kind the last such row stays, for its told_at
  per              text collate "C" not null,          -- from here on as in key_rule
  max_running      integer,
  when_full        text collate "C" not null,
  rate_limit       integer,
  rate_per_ms      bigint,
  rate_how         text collate "C",
  rate_at          text collate "C",
  kind_max_running integer,                            -- the cap of the whole kind: rule_max_running of its gate
  constraint told_rule_kind_fits check (octet_length(kind) between 1 and 200),
  constraint told_rule_per_is_known check (per in ('key', 'tenant', 'kind')),
  constraint told_rule_when_full_is_known check (when_full in ('wait', 'refuse')),
  constraint told_rule_max_running_fits check (max_running between 1 and 10000),
  constraint told_rule_kind_max_running_fits check (kind_max_running between 0 and 1000000),
  constraint told_rule_rate_fits check (case when rate_limit is null then coalesce(rate_per_ms::text, rate_how, rate_at) is null
    else coalesce(rate_limit between 1 and 1000000 and rate_per_ms between 1 and 2592000000 and rate_how in ('window', 'uniform') and rate_at in ('start', 'enqueue'), false) end)
);
create index told_rule_order on fairmill.told_rule (kind, told_at, id);
-- Empty at most times: one probe says so.
create index told_rule_new on fairmill.told_rule (kind) where not taken;

-- The rules that jobs obey when they come in or look for a slot: key_rule, and what was told last and is not taken over yet.
create view fairmill.rule_in_force as
select r.kind, r.per, r.max_running, r.when_full, r.rate_limit, r.rate_per_ms, r.rate_how, r.rate_at
from fairmill.key_rule r
where not exists (
  select from fairmill.told_rule t
  where t.kind = r.kind and not t.taken
    and not exists (select from fairmill.told_rule later where later.kind = t.kind and (later.told_at, later.id) > (t.told_at, t.id)))
union all
select t.kind, t.per, t.max_running, t.when_full, t.rate_limit, t.rate_per_ms, t.rate_how, t.rate_at
from fairmill.told_rule t
where not t.taken and coalesce(t.max_running, t.rate_limit) is not null
  and not exists (select from fairmill.told_rule later where later.kind = t.kind and (later.told_at, later.id) > (t.told_at, t.id));
