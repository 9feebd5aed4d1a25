-- The jobs that wait, by queue and by what keeps them: what one more worker could start now, and what it could not.
--   queues_wanted  null: all;  kinds_handled: kinds that have a handler; null: those of living workers and of pools
-- Result: a row per queue and reason, with how many there are (is_more: at least this many).
--   runnable         could start now
--   scheduled        due later;  rate-limited: put back, or held back, by a rate;  blocked: no slot under its key
--   paused, capped   held back by the settings of its tenant, queue or kind. Under a cap as many as have room are
--                    runnable
--   provider closed  a provider that its kind needs takes no calls
--   budget spent     a budget of its tenant has no room for its calls
--   no handler       no worker knows its kind
-- backlog_by_v1 tells more apart, and costs more. Every count is bounded, whatever waits: of lanes as backlog_lanes
-- says, and 10,000 scheduled and 10,000 blocked jobs are looked at.
-- Locks: none.
-- Plan expected: backlog_lanes; bounded walks along job_scheduled and job_blocked.
create or replace function fairmill.backlog_v1(queues_wanted text[] default null, kinds_handled text[] default null)
returns table (queue text, reason text, jobs integer, is_more boolean)
language plpgsql stable
set enable_sort = off
as $$
#variable_conflict use_column
declare
  c_aside constant integer := 10000;
  v_kinds text[] := coalesce(kinds_handled, fairmill.handled_kinds());
begin
  return query
    with lane as materialized (select * from fairmill.backlog_lanes(queues_wanted, v_kinds))
    select l.queue,
      case when l.reason like '% cap' then 'capped' when l.reason = 'rate' then 'rate-limited' else l.reason end,
      sum(l.jobs)::integer, bool_or(l.is_more) or exists (select from lane x where x.reason is null)
    from lane l
    where l.reason is not null
    group by 1, 2
    union all
    select later.queue, case when later.rate_limited then 'rate-limited' else 'scheduled' end, count(*)::integer,
      sum(count(*)) over () >= c_aside
    from (
      select j.queue, coalesce(j.rate_limited, false) as rate_limited from fairmill.job j
      where j.aside = 'scheduled'
      order by j.run_at, j.id limit c_aside) later
    where queues_wanted is null or later.queue = any (queues_wanted)
    group by later.queue, later.rate_limited
    union all
    select kept.queue, 'blocked', count(*)::integer, sum(count(*)) over () >= c_aside
    from (select j.queue from fairmill.job j where j.aside = 'blocked' order by j.limit_key limit c_aside) kept
    where queues_wanted is null or kept.queue = any (queues_wanted)
    group by kept.queue;
end
$$;
