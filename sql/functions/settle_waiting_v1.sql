-- The half of settle_v1 for jobs that wait for another turn: retry, snooze, release. Returns how many it changed.
-- Locks: the jobs by id, then the rescan mark of the queues that got an old id back.
create or replace function fairmill.settle_waiting_v1(worker_id text, ids bigint[], leases integer[], verdicts text[], details jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_at       timestamptz := clock_timestamp();
  v_waiting  integer;
  v_released text[];
begin
  with waiting as (
    update fairmill.job j
    set state = case when v.verdict = 'release' then 'ready' else 'scheduled' end,
        run_at = case when v.verdict = 'release' then j.run_at else v_at + coalesce((v.detail ->> 'delay_ms')::float8, 0) * interval '1 millisecond' end,
        attempt = case when v.verdict = 'retry' then j.attempt else j.attempt - 1 end,
        failures = case when v.verdict = 'retry' then coalesce(j.failures, '[]') || fairmill.failure_v1(
          j.attempt, j.lease_no, j.worker, j.started_at, v_at, v.detail ->> 'outcome', v.detail -> 'error') else j.failures end,
        worker = null, started_at = null
    from (select u.id, u.lease_no, u.verdict, details -> (u.n - 1)::integer as detail
          from unnest(ids, leases, verdicts) with ordinality as u (id, lease_no, verdict, n)) v
    where j.id = v.id and j.lease_no = v.lease_no and j.worker is not distinct from worker_id
      and v.verdict in ('retry', 'snooze', 'release')
    returning j.queue, j.state)
  select count(*),
         coalesce(array_agg(distinct w.queue) filter (where w.state = 'ready'), '{}')
    into v_waiting, v_released
  from waiting w;

  if cardinality(v_released) > 0 then
    perform fairmill.rescan_v1(v_released);
  end if;
  return v_waiting;
end
$$;
