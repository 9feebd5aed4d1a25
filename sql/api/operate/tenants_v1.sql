-- A page of tenants by name: those that have settings, ready jobs or running ones, each with what waits and what runs.
--   after_tenant  only names behind this one: the last of the page before; tenants_max: at most this many
-- Result: its settings (rate: {limit, per_ms, how, at} or null); ready, counted to 1000; running, among the first
-- 10,000 running jobs. Where the column beside a count says full, there may be more. A tenant all of whose jobs are
-- scheduled or blocked is not found: no index leads to it.
-- Plan: per tenant and pair of queue and priority a probe of job_lane and a count in it; one bounded walk along the
-- jobs that workers run.
-- Locks: none.
create or replace function fairmill.tenants_v1(after_tenant text default '', tenants_max integer default 50)
returns table (tenant text, weight float8, max_running integer, rate jsonb, paused_at timestamptz,
  paused_until timestamptz, ready integer, ready_full boolean, running integer, running_full boolean)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_queues     text[];
  v_priorities smallint[];
  v_running    jsonb;      -- tenant: how many
  v_looked     integer;
  v_name       text collate "C" := after_tenant;
  v_setting    fairmill.limit_in_force;
begin
  select array_agg(l.queue), array_agg(l.priority) into v_queues, v_priorities from fairmill.levels() l;
  select jsonb_object_agg(r.tenant, r.count), coalesce(sum(r.count), 0) into v_running, v_looked
  from (
    select held.tenant, count(*) as count from fairmill.claimed_jobs(jobs_max => 10000) held group by held.tenant) r;

  for i in 1 .. tenants_max loop
    select min(next.name) into v_name from (
      (select g.name from fairmill.limit_setting g where g.scope = 'tenant' and g.name > v_name order by g.name limit 1)
      union all
      select r.name collate "C" from jsonb_object_keys(v_running) as r (name) where r.name collate "C" > v_name
      union all
      select probe.tenant from unnest(v_queues, v_priorities) as level (queue, priority)
      cross join lateral (
        select j.tenant from fairmill.job j
        where j.aside is null and j.state = 'ready'
          and fairmill.level_v1(j.queue, j.priority) = fairmill.level_v1(level.queue, level.priority)
          and j.queue = level.queue and j.tenant > v_name
        order by fairmill.level_v1(j.queue, j.priority), j.tenant limit 1) probe) next;
    exit when v_name is null;
    select * into v_setting from fairmill.limit_in_force g where g.scope = 'tenant' and g.name = v_name;
    select count(*) into ready from (
      select from unnest(v_queues, v_priorities) as level (queue, priority)
      cross join lateral (
        select from fairmill.job j
        where j.aside is null and j.state = 'ready'
          and fairmill.level_v1(j.queue, j.priority) = fairmill.level_v1(level.queue, level.priority)
          and j.queue = level.queue and j.tenant = v_name
        limit 1000) waits
      limit 1000) counted;
    tenant := v_name;
    weight := coalesce(v_setting.weight, 1);
    max_running := v_setting.max_running;
    rate := case when v_setting.rate_limit is not null then jsonb_build_object('limit', v_setting.rate_limit,
      'per_ms', v_setting.rate_per_ms, 'how', v_setting.rate_how, 'at', v_setting.rate_at) end;
    paused_at := v_setting.paused_at;
    paused_until := v_setting.paused_until;
    ready_full := ready >= 1000;
    running := coalesce((v_running ->> v_name)::integer, 0);
    running_full := v_looked >= 10000;
    return next;
  end loop;
end
$$;
