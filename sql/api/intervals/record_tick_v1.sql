-- Records what a tick, or a worker in an interval, did: one row of worker_tick_metrics.
--   worker_id   the incarnation
--   facts       mode, interval_ms, and whatever of the other columns is known, each by its name; and
--               looked_at   the worker's queues, at most 50
--               closed      limits of queues, kinds and tenants that are closed:
--                           [{"scope", "name", "limit", "claims"}, …]
--               sample      ids of claimed jobs whose waits are asked for, at most 1,000 of them
--               buckets_ms  upper bounds of the histograms
--   look_every  the queues are not looked at where another worker did so within this time, unless limits are closed;
--               zero: always
-- Result: the row's id; throttled: as in the row; ready: how many jobs are ready in the queues now; null where they
-- were not looked at.
-- Locks: none but the new row's. Plan expected: queue_depths_v1, waits_of; the newest 100 rows by the primary key.
create or replace function fairmill.record_tick_v1(worker_id text, facts jsonb, look_every interval default '8 seconds',
  out id bigint, out ready integer, out throttled integer)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_names  constant text[] := array(select jsonb_array_elements_text(facts -> 'looked_at'));
  v_closed constant jsonb := coalesce(facts -> 'closed', '[]');
  v_depth  integer := (facts -> 'queue_depth_at_start')::integer;
  v_queues jsonb;
  v_behind jsonb;      -- how many jobs each of the closed limits holds back
  v_waits  jsonb;
  v_row    fairmill.worker_tick_metrics;
begin
  if v_closed = '[]' and look_every > interval '0' then
    -- Each queue is counted about once in an interval, however many workers serve it.
    select coalesce(v_depth, m.queue_depth_at_start) into v_depth
    from (select x.* from fairmill.worker_tick_metrics x order by x.id desc limit 100) m
    where m.queues ?& v_names
      and m.tick_started_at + m.interval_ms * interval '1 millisecond' > clock_timestamp() - look_every
    limit 1;
  end if;
  if v_depth is null or v_closed <> '[]' or look_every <= interval '0' then
    with looked as materialized (select * from fairmill.queue_depths_v1(v_names, v_closed))
    select
      jsonb_object_agg(d.queue, jsonb_build_object(
        'ready', d.ready, 'ready_full', d.is_full, 'oldest_ms', round(d.oldest_ms::numeric, 1))),
      sum(d.ready), (
        select jsonb_agg(b.jobs order by b.n)
        from (
          select u.n, sum(u.jobs) as jobs
          from looked l
          cross join lateral unnest(l.behind) with ordinality as u (jobs, n)
          group by u.n) b)
      into v_queues, ready, v_behind
    from looked d;
    v_depth := coalesce(v_depth, ready);
  end if;
  v_waits := fairmill.waits_of(
    array(select jsonb_array_elements_text(facts -> 'sample')::bigint),
    array(select jsonb_object_keys(facts -> 'kinds')), array(select jsonb_object_keys(facts -> 'tenants')),
    array(
      select b.ms::float8 from jsonb_array_elements(facts -> 'buckets_ms') with ordinality as b (ms, n) order by b.n));
  v_row := jsonb_populate_record(v_row, facts);
  insert into fairmill.worker_tick_metrics as m (
    worker_id, mode, tick_started_at, interval_ms, tick_duration_ms, budget_ms, jobs_claimed, jobs_processed,
    jobs_succeeded, jobs_failed, jobs_dead, jobs_throttled, jobs_released, jobs_yielded, jobs_recovered, leases_lost,
    lock_contention_count, running, tenant_jobs, queue_depth_at_start, kinds, tenants, queues, throttled)
  values (
    worker_id, v_row.mode, clock_timestamp() - v_row.interval_ms * interval '1 millisecond', v_row.interval_ms,
    v_row.tick_duration_ms, v_row.budget_ms, coalesce(v_row.jobs_claimed, 0), coalesce(v_row.jobs_processed, 0),
    coalesce(v_row.jobs_succeeded, 0), coalesce(v_row.jobs_failed, 0), coalesce(v_row.jobs_dead, 0),
    coalesce(v_row.jobs_throttled, 0)
      + coalesce((select sum(b.jobs::integer) from jsonb_array_elements(v_behind) as b (jobs)), 0),
    coalesce(v_row.jobs_released, 0), coalesce(v_row.jobs_yielded, 0), coalesce(v_row.jobs_recovered, 0),
    coalesce(v_row.leases_lost, 0), coalesce(v_row.lock_contention_count, 0), coalesce(v_row.running, 0),
    coalesce(v_row.tenant_jobs, '{}'), v_depth, fairmill.with_waits(facts -> 'kinds', v_waits -> 'kinds'),
    fairmill.with_waits(facts -> 'tenants', v_waits -> 'tenants'), v_queues,
    coalesce(v_row.throttled, '[]') || coalesce((
      select jsonb_agg(k.one || jsonb_build_object('jobs', coalesce(v_behind -> (k.n - 1)::integer, '0')) order by k.n)
      from jsonb_array_elements(v_closed) with ordinality as k (one, n)), '[]'))
  returning m.id, m.jobs_throttled into id, throttled;
end
$$;
