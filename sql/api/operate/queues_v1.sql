-- A page of queues by name: those that jobs, living workers or settings name, each with its limits and with what waits
-- and runs in it.
--   after_queue  only names behind this one: the last of the page before; queues_max: at most this many
-- Result: its settings (rate: {limit, per_ms, how, at} or null); workers, the living ones that serve it; ready, counted
-- to 1000; running, scheduled and blocked, among the first 10,000 jobs in that state (scheduled: those that are due
-- first). Where the column beside a count says full, there may be more. A queue is not found when all of its jobs lie
-- beyond those bounds and no worker serves it.
-- Plan: per queue and priority a count in job_lane; one bounded walk along the jobs that workers run, and along each of
-- job_scheduled and job_blocked.
-- Locks: none.
create or replace function fairmill.queues_v1(after_queue text default '', queues_max integer default 50)
returns table (queue text, max_running integer, rate jsonb, paused_at timestamptz, paused_until timestamptz,
  workers integer, ready integer, ready_full boolean, running integer, running_full boolean,
  scheduled integer, scheduled_full boolean, blocked integer, blocked_full boolean)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_at     timestamptz := clock_timestamp();
  v_counts jsonb;   -- state: {queue: how many}
  v_looked jsonb;   -- state: how many in all
begin
  select jsonb_object_agg(by_state.state, by_state.queues), jsonb_object_agg(by_state.state, by_state.count)
    into v_counts, v_looked
  from (
    select c.state, jsonb_object_agg(c.queue, c.count) as queues, sum(c.count) as count
    from (
      select 'running' as state, held.queue, count(*) as count
      from fairmill.claimed_jobs(jobs_max => 10000) held
      group by held.queue
      union all
      select 'scheduled', later.queue, count(*)
      from (select j.queue from fairmill.job j where j.aside = 'scheduled' order by j.run_at, j.id limit 10000) later
      group by later.queue
      union all
      select 'blocked', kept.queue, count(*)
      from (select j.queue from fairmill.job j where j.aside = 'blocked' order by j.limit_key limit 10000) kept
      group by kept.queue) c
    group by c.state) by_state;

  return query
    with level as materialized (select l.queue, l.priority from fairmill.levels() l),
    serving as materialized (
      select served.name, count(*)::integer as workers
      from fairmill.worker w
      cross join lateral unnest(w.queues) as served (name)
      where w.state = 'alive' and w.lease_until > v_at
      group by served.name),
    named as (
      select l.queue collate "C" as name from level l
      union
      select s.name collate "C" from serving s
      union
      select g.name from fairmill.limit_setting g where g.scope = 'queue'
      union
      select k.name collate "C" from jsonb_each(v_counts) as c (state, queues)
      cross join lateral jsonb_object_keys(c.queues) as k (name)),
    page as materialized (
      select n.name from named n
      where n.name > after_queue collate "C"
      order by n.name limit queues_max)
    select p.name, g.max_running,
      case when g.rate_limit is not null
        then jsonb_build_object('limit', g.rate_limit, 'per_ms', g.rate_per_ms, 'how', g.rate_how, 'at', g.rate_at) end,
      g.paused_at, g.paused_until, coalesce((select s.workers from serving s where s.name = p.name), 0),
      waits.count, waits.count >= 1000,
      coalesce((v_counts #>> array['running', p.name])::integer, 0),
      coalesce((v_looked -> 'running')::integer >= 10000, false),
      coalesce((v_counts #>> array['scheduled', p.name])::integer, 0),
      coalesce((v_looked -> 'scheduled')::integer >= 10000, false),
      coalesce((v_counts #>> array['blocked', p.name])::integer, 0),
      coalesce((v_looked -> 'blocked')::integer >= 10000, false)
    from page p
    left join fairmill.limit_in_force g on g.scope = 'queue' and g.name = p.name
    cross join lateral (
      select count(*)::integer as count
      from (
        select from level l
        cross join lateral (
          select from fairmill.job j
          where j.aside is null and j.state = 'ready'
            and fairmill.level_v1(j.queue, j.priority) = fairmill.level_v1(l.queue, l.priority) and j.queue = l.queue
          limit 1000) ready
        where l.queue = p.name
        limit 1000) counted) waits
    order by p.name;
end
$$;
