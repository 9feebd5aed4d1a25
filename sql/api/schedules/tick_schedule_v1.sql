-- Enqueues the jobs of due ticks of one schedule, or starts its flows, and moves it on to its next one: both or
-- nothing, and each tick once.
--   revision   of the schedule from which the ticks were computed: if it changed since, nothing is done
--   ticks      the times to make jobs for, none of them in the future
--   delays_ms  beside ticks: how long after its tick each job may start
--   next_at    the first tick that this call does not make
-- Result: whether it was done; the jobs that were made; refusals: [{tick_at, refused}], what did not let the others in.
-- Locks: 1 schedule (if it is free), then as enqueue_many_v1. Then as enqueue_many_v1.
-- Plan expected: the schedule by its name, ticks by their primary key.
create or replace function fairmill.tick_schedule_v1(name text, revision bigint, ticks timestamptz[],
  delays_ms float8[], next_at timestamptz, out ticked boolean, out jobs bigint[], out refusals jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_schedule fairmill.schedule;
  v_new      timestamptz[];   -- ticks without a job, oldest first
  v_jobs     jsonb;
begin
  jobs := '{}';
  -- Never waits: another session that has it locked does the same.
  select * into v_schedule from fairmill.schedule s
  where s.name = tick_schedule_v1.name and s.revision = tick_schedule_v1.revision and s.paused_at is null
    and s.next_at <= now()
  for update skip locked;
  ticked := found;
  if not ticked then
    return;
  end if;
  -- Or it would be due for ever.
  if tick_schedule_v1.next_at <= v_schedule.next_at then
    raise exception 'the next tick of "%" must lie behind the one that is due', tick_schedule_v1.name
      using errcode = 'FM001';
  end if;

  -- Asked by a subquery for one value, which cannot be turned into a join that reads all ticks of the schedule.
  v_new := array(
    select distinct given.tick_at from unnest(tick_schedule_v1.ticks) as given (tick_at)
    where given.tick_at <= now() and (
      select t.tick_at from fairmill.schedule_tick t
      where t.schedule = v_schedule.name and t.tick_at = given.tick_at) is null
    order by given.tick_at);

  if v_schedule.job ? 'flow' then
    -- The key is a second guard: whatever becomes of the tick's row, its flow is started once.
    with made as (
      select new.tick_at, f.id, f.refused
      from unnest(v_new) as new (tick_at)
      cross join lateral fairmill.start_flow_v1(v_schedule.job -> 'flow' || jsonb_build_object('idempotency_key',
        'schedule ' || v_schedule.name || ' '
          || to_char(new.tick_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))) f),
    kept as (
      insert into fairmill.schedule_tick (schedule, tick_at, flow_id, refused)
      select v_schedule.name, made.tick_at, made.id, made.refused from made)
    select jsonb_agg(jsonb_build_object('tick_at', made.tick_at, 'refused', made.refused) order by made.tick_at)
        filter (where made.refused is not null)
      into refusals
    from made;
  elsif v_new <> '{}' then
    -- A start in the past is no reason to wait, nor to expire.
    select jsonb_agg(
        v_schedule.job || case when due.at > now() then jsonb_build_object('run_at', due.at) else '{}' end
        order by new.tick_at)
      into v_jobs
    from unnest(v_new) as new (tick_at)
    cross join lateral (
      select new.tick_at
        + coalesce(tick_schedule_v1.delays_ms[array_position(tick_schedule_v1.ticks, new.tick_at)], 0)
          * interval '1 millisecond' as at) due;
    -- The primary key is the guard: a second insert of the same tick fails, and its job is undone with it.
    with made as (
      select v_new[j.n] as tick_at, j.id, j.id is not null and j.conflict is null as created, j.refusal as refused
      from unnest(fairmill.store_jobs(fairmill.parse_jobs(v_jobs, '{}'), true, true, 'rest')) as j),
    kept as (
      insert into fairmill.schedule_tick (schedule, tick_at, job_id, refused)
      select v_schedule.name, made.tick_at, made.id, made.refused from made)
    select coalesce(array_agg(made.id order by made.tick_at) filter (where made.created), '{}'),
      jsonb_agg(jsonb_build_object('tick_at', made.tick_at, 'refused', made.refused) order by made.tick_at)
        filter (where made.refused is not null)
      into jobs, refusals
    from made;
  end if;

  update fairmill.schedule s
  set next_at = tick_schedule_v1.next_at, moved_at = clock_timestamp(), not_before = null, revision = s.revision + 1,
    last_tick_at = coalesce(v_new[cardinality(v_new)], s.last_tick_at),
    last_job_id = coalesce(jobs[cardinality(jobs)], s.last_job_id),
    last_error = case when v_new = '{}' then s.last_error else refusals -> -1 end
  where s.name = v_schedule.name;
end
$$;
