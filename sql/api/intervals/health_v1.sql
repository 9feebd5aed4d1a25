-- How each worker that wrote figures in the last five minutes is, by thresholds: worker_health_summary with a level
-- beside each figure, and the worst of them.
--   thresholds  {"tick_duration_ms": [warning, critical], "lock_contentions": […], "jobs_per_tick": […],
--               "queue_depth": […]};
--               the defaults of what is left out: 30000 and 50000, 1 and 5, 50 and 100, 100 and 500
-- Result: good below the warning, critical above the critical threshold, warning between them; contentions are a
-- warning from the first threshold on. Jobs per tick are judged in the mode tick alone: an interval of a busy worker
-- has any number.
-- Locks: none.
create or replace function fairmill.health_v1(thresholds jsonb default null)
returns table (worker_id text, mode text, level text, tick_count bigint, avg_tick_duration_ms numeric,
  tick_duration_level text, total_lock_contentions bigint, lock_contention_level text, avg_jobs_per_tick numeric,
  jobs_per_tick_level text, queue_depth integer, queue_depth_level text, last_tick_at timestamptz)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_limits constant jsonb := '{"tick_duration_ms": [30000, 50000], "lock_contentions": [1, 5],
    "jobs_per_tick": [50, 100], "queue_depth": [100, 500]}'::jsonb || coalesce(thresholds, '{}');
  v_name text;
begin
  for v_name in select k.name from jsonb_object_keys(v_limits) as k (name) loop
    if v_name not in ('tick_duration_ms', 'lock_contentions', 'jobs_per_tick', 'queue_depth')
        or jsonb_typeof(v_limits -> v_name) <> 'array' or jsonb_array_length(v_limits -> v_name) <> 2
        or jsonb_typeof(v_limits -> v_name -> 0) <> 'number' or jsonb_typeof(v_limits -> v_name -> 1) <> 'number'
        or (v_limits -> v_name -> 0)::numeric > (v_limits -> v_name -> 1)::numeric then
      raise exception 'health_v1: thresholds: "%" is not a figure with two rising numbers', v_name
        using errcode = 'FM001', hint = 'The figures with their defaults: tick_duration_ms [30000, 50000], '
          'lock_contentions [1, 5], jobs_per_tick [50, 100], queue_depth [100, 500].';
    end if;
  end loop;
  return query
    select s.worker_id, s.mode,
      (array['good', 'warning', 'critical'])
        [1 + greatest(l.duration, l.contention, coalesce(l.jobs, 0), coalesce(l.depth, 0))],
      s.tick_count, s.avg_tick_duration_ms, (array['good', 'warning', 'critical'])[1 + l.duration],
      s.total_lock_contentions, (array['good', 'warning', 'critical'])[1 + l.contention],
      s.avg_jobs_per_tick, (array['good', 'warning', 'critical'])[1 + l.jobs],
      s.queue_depth, (array['good', 'warning', 'critical'])[1 + l.depth], s.last_tick_at
    from fairmill.worker_health_summary s
    cross join lateral (
      select fairmill.level_of(s.avg_tick_duration_ms, v_limits -> 'tick_duration_ms') as duration,
        fairmill.level_of(s.total_lock_contentions, v_limits -> 'lock_contentions') as contention,
        case when s.mode = 'tick' then fairmill.level_of(s.avg_jobs_per_tick, v_limits -> 'jobs_per_tick') end as jobs,
        fairmill.level_of(s.queue_depth, v_limits -> 'queue_depth') as depth) l
    order by s.worker_id;
end
$$;
