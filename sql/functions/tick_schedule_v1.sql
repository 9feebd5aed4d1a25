-- Enqueues the jobs of due ticks of one schedule and moves it on to its next one: both or nothing, and each tick once.
--   revision   of the schedule from which the ticks were reckoned: if it changed since, nothing is done
--   ticks      the moments to make jobs for, none of them in the future; delays_ms: for each, how long after it the job may start
--   next_at    the first tick that is not done by this
-- Result: whether it was done; the jobs that were made; refusals: [{tick_at, refused}], what did not let the others in.
-- Locks: the schedule, unless somebody else has it: then nothing is done. Then as enqueue_many_v1.
-- Plan expected: the schedule by its name, ticks by their primary key.
create or replace function fairmill.tick_schedule_v1(name text, revision bigint, ticks timestamptz[], delays_ms float8[], next_at timestamptz,
  out ticked boolean, out jobs bigint[], out refusals jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_schedule fairmill.schedule;
  v_new      timestamptz[];   -- ticks that nobody had, oldest first
  v_jobs     jsonb;
begin
  jobs := '{}';
  -- Never waits: whoever has it does the same.
  select * into v_schedule from fairmill.schedule s
  where s.name = tick_schedule_v1.name and s.revision = tick_schedule_v1.revision and s.paused_at is null and s.next_at <= now()
  for update skip locked;
  ticked := found;
  if not ticked then
    return;
  end if;
  -- Or it would be due for ever.
  if tick_schedule_v1.next_at <= v_schedule.next_at then
    raise exception 'the next tick of "%" must lie behind the one that is due', tick_schedule_v1.name using errcode = 'FM001';
  end if;

  with new as (
    insert into fairmill.schedule_tick as t (schedule, tick_at)
    select v_schedule.name, given.tick_at from unnest(tick_schedule_v1.ticks) as given (tick_at)
    where given.tick_at <= now() order by given.tick_at
    on conflict (schedule, tick_at) do nothing
    returning t.tick_at)
  select array_agg(new.tick_at order by new.tick_at) into v_new from new;

  if v_new is not null then
    -- A start that lies behind us is no reason to wait, nor to expire.
    select jsonb_agg(v_schedule.job || case when due.at > now() then jsonb_build_object('run_at', due.at) else '{}' end order by new.tick_at) into v_jobs
    from unnest(v_new) as new (tick_at)
    join unnest(tick_schedule_v1.ticks, tick_schedule_v1.delays_ms) as given (tick_at, delay_ms) on given.tick_at = new.tick_at
    cross join lateral (select new.tick_at + coalesce(given.delay_ms, 0) * interval '1 millisecond' as at) due;
    with made as (
      select v_new[e.n] as tick_at, e.id, e.created, e.refused
      from fairmill.enqueue_many_v1(v_jobs, '{}', wake => true, alone => true, partial => true) with ordinality as e (id, created, conflict, refused, n)),
    kept as (
      update fairmill.schedule_tick t set job_id = made.id, refused = made.refused
      from made where t.schedule = v_schedule.name and t.tick_at = made.tick_at)
    select coalesce(array_agg(made.id order by made.tick_at) filter (where made.created), '{}'),
      jsonb_agg(jsonb_build_object('tick_at', made.tick_at, 'refused', made.refused) order by made.tick_at) filter (where made.refused is not null)
    into jobs, refusals from made;
  end if;

  update fairmill.schedule s set
    next_at = tick_schedule_v1.next_at, held_until = null, revision = s.revision + 1,
    last_tick_at = coalesce(v_new[cardinality(v_new)], s.last_tick_at), last_job_id = coalesce(jobs[cardinality(jobs)], s.last_job_id),
    last_error = case when v_new is null then s.last_error else refusals -> -1 end
  where s.name = v_schedule.name;
end
$$;
