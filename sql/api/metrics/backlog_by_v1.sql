-- The jobs that wait, by queue, tenant and kind, and by what keeps each: why the whole backlog waits.
--   queues_wanted  null: all;  kinds_handled: kinds that have a handler; null: those of living workers and of pools
-- Result: rows with how many there are (is_more: at least this many), and the reason, one of
--   runnable       could start now
--   no worker      could start, but no living worker serves its queue;  no handler: no worker knows its kind
--   paused, rate   held back by the settings of its tenant, queue or kind;  tenant cap, queue cap, kind cap: likewise
--   key            no slot under its key;  key rate: put back by the rate of its key
--   scheduled      due later;  retrying: after an attempt that failed;  sleeping, waiting for a signal: at a step
-- Bounded as backlog_v1 is. For views and samples: an autoscaler needs backlog_v1.
-- Locks: none.
-- Plan expected: backlog_lanes; bounded walks along job_scheduled and job_blocked; of those that have run before, their
-- steps by their primary key.
create or replace function fairmill.backlog_by_v1(queues_wanted text[] default null, kinds_handled text[] default null)
returns table (queue text, tenant text, kind text, reason text, jobs integer, is_more boolean)
language plpgsql stable
set enable_sort = off
as $$
#variable_conflict use_column
declare
  c_aside  constant integer := 10000;
  v_kinds  text[] := coalesce(kinds_handled, fairmill.handled_kinds());
  v_served text[] := array(
    select distinct q.name from fairmill.worker w cross join lateral unnest(w.queues) as q (name)
    where w.state = 'alive' and w.lease_until > clock_timestamp());
begin
  return query
    with lane as materialized (select * from fairmill.backlog_lanes(queues_wanted, v_kinds))
    select l.queue, l.tenant, l.kind,
      case when l.reason = 'runnable' and l.queue <> all (v_served) then 'no worker' else l.reason end,
      sum(l.jobs)::integer, bool_or(l.is_more) or exists (select from lane x where x.reason is null)
    from lane l
    where l.reason is not null
    group by 1, 2, 3, 4
    union all
    select later.queue, later.tenant, later.kind,
      case when later.rate_limited then 'key rate' when step.kind = 'wait' then 'waiting for a signal'
        when step.kind = 'sleep' then 'sleeping' when later.has_failed then 'retrying' else 'scheduled' end,
      count(*)::integer, sum(count(*)) over () >= c_aside
    from (
      select j.id, j.queue, j.tenant, j.kind, j.rate_limited, j.lease_no > 0 as has_run,
        coalesce((j.failures -> -1 ->> 'lease_no')::bigint = j.lease_no, false) as has_failed
      from fairmill.job j
      where j.aside = 'scheduled'
      order by j.run_at, j.id limit c_aside) later
    left join lateral (
      select s.kind from fairmill.step s
      where s.job_id = later.id and s.finished_at is null and s.signalled_at is null and s.position is not null
        and s.kind in ('sleep', 'wait') and later.has_run and not later.has_failed
      limit 1) step on true
    where queues_wanted is null or later.queue = any (queues_wanted)
    group by 1, 2, 3, 4
    union all
    select kept.queue, kept.tenant, kept.kind, 'key', count(*)::integer, sum(count(*)) over () >= c_aside
    from (
      select j.queue, j.tenant, j.kind from fairmill.job j
      where j.aside = 'blocked'
      order by j.limit_key limit c_aside) kept
    where queues_wanted is null or kept.queue = any (queues_wanted)
    group by 1, 2, 3;
end
$$;
