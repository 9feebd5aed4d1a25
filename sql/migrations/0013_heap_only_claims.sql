-- A claim changes nothing that an index knows of: PostgreSQL then writes the new version of the row beside the old one and no entry into any
-- index. What it changes (state, worker, lease_no, attempt, started_at) may stand in no index, neither as a column nor in a condition.
set local lock_timeout = '10s';

drop index fairmill.job_ready;
drop index fairmill.job_running;
drop index fairmill.job_running_tenant;
drop index fairmill.job_running_queue;
drop index fairmill.job_running_kind;
drop index fairmill.job_scheduled;
drop index fairmill.job_blocked;
drop index fairmill.job_throttled;
drop index fairmill.job_expiring;
drop index fairmill.job_unique;

-- Unique until it starts: a claim takes such a key away.
update fairmill.job set unique_key = null, unique_until = null where unique_until = 'started' and lease_no > 0;

-- Room on each page for the second version of its rows.
alter table fairmill.job set (fillfactor = 45);
-- Null: in its lane, ready or running. Otherwise why it is not there: scheduled or blocked.
-- Not a generated column: to make one is another copy of every row that is written.
alter table fairmill.job add column aside text collate "C";
update fairmill.job set aside = state where state in ('scheduled', 'blocked');
alter table fairmill.job drop constraint job_state_fits;
alter table fairmill.job add constraint job_state_fits check (case state
  when 'ready' then aside is null and worker is null and started_at is null
  when 'running' then aside is null and worker is not null and started_at is not null
  when 'scheduled' then aside is not distinct from state and worker is null and started_at is null and run_at is not null
  when 'blocked' then aside is not distinct from state and worker is null and started_at is null
  else false end);

create index job_lane on fairmill.job (queue, priority, tenant, id) with (deduplicate_items = off) where aside is null;
create index job_scheduled on fairmill.job (run_at, id) where aside = 'scheduled';
create index job_blocked on fairmill.job (limit_key, priority desc, id) where aside = 'blocked';
create index job_throttled on fairmill.job (limit_key, run_at) where aside = 'scheduled' and put_back;
create index job_expiring on fairmill.job (expire_at, id) where expire_at is not null;
create index job_cancelling on fairmill.job (id) where cancel_requested_at is not null;
create unique index job_unique on fairmill.job (tenant, kind, unique_key) where unique_key is not null;

-- Where to look for the jobs of a worker: a list for each of its claims. Every job that it runs is in one of its lists; a list also names
-- jobs that it has settled since. Who holds a job is said by the job alone.
create table fairmill.hand (
  worker text collate "C" not null,
  no     bigint not null,              -- given by the worker, who uses it again when all jobs of the list are settled; below zero: by the database
  ids    bigint[] not null,
  primary key (worker, no)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 1);
-- Numbers in a row do not get much shorter, and every claim would wait for it.
alter table fairmill.hand alter column ids set storage external;
insert into fairmill.hand (worker, no, ids)
select j.worker, -1, array_agg(j.id order by j.id) from fairmill.job j where j.state = 'running' group by j.worker;

-- Of a gate with a cap: all jobs that run under it, and some that have ended since. Written under the lock of the meter.
alter table fairmill.meter add column held bigint[];
alter table fairmill.meter alter column held set storage external;
insert into fairmill.meter as m (use, scope, name, held)
select 'start', g.scope, g.name, array_agg(j.id order by j.id)
from fairmill.gate g join fairmill.job j on j.state = 'running' and case g.scope when 'tenant' then j.tenant when 'queue' then j.queue else j.kind end = g.name
where g.max_running is not null group by g.scope, g.name
on conflict (use, scope, name) do update set held = excluded.held;
alter table fairmill.job drop column counted;

drop function if exists fairmill.gate_rooms_v1(text[], text[], text[]);
drop function if exists fairmill.claim_lanes_v1(text, text[], smallint[], text[], bigint[], integer[], text[], integer, boolean);
drop function if exists fairmill.claim_gated_v1(text, text[], smallint[], text[], bigint[], integer[], text[], integer, boolean);
