-- Changes parts of a schedule by hand; null: as it is. Its fingerprint stays that of the code's declaration, so that
-- the same declaration at the next start leaves the edit alone, and another one replaces it.
--   next_at          the first tick from now on of the changed schedule; counts when expression or zone are new, or
--                    when a paused one goes on
--   job              of the new input: a job as set_schedule_v1 takes it. Only what follows from the input is taken
--   unchanged_since  updated_at as the caller has read it, to the millisecond: if it changed since, nothing is done
-- Result: changed, same, stale or not_found.
-- Locks: 1 schedule.
create or replace function fairmill.change_schedule_v1(name text, cron text default null, timezone text default null,
  next_at timestamptz default null, job jsonb default null, missed_max integer default null,
  jitter_ms bigint default null, paused boolean default null, unchanged_since timestamptz default null)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_old   fairmill.schedule;
  v_job   jsonb;
  v_moves boolean;
  v_same  boolean;
begin
  select * into v_old from fairmill.schedule s where s.name = change_schedule_v1.name for update;
  if not found then
    return 'not_found';
  end if;
  if date_trunc('milliseconds', v_old.updated_at) <> date_trunc('milliseconds', unchanged_since) then
    return 'stale';
  end if;
  v_job := v_old.job;
  if change_schedule_v1.job is not null then
    v_job := (v_old.job - array['unique_key', 'unique_until', 'unique_for_ms', 'on_conflict', 'debounce_ms',
        'debounce_max_ms', 'account', 'amount', 'uses'])
      || (change_schedule_v1.job - array['kind', 'queue', 'tenant', 'priority', 'max_attempts', 'expire_ms',
        'timeout_ms', 'tags', 'trace', 'batch', 'run_at', 'delay_ms', 'idempotency_key']);
  end if;
  v_moves := (v_old.cron, v_old.timezone)
      <> (coalesce(change_schedule_v1.cron, v_old.cron), coalesce(change_schedule_v1.timezone, v_old.timezone))
    or v_old.paused_at is not null and change_schedule_v1.paused is false;
  v_same := not v_moves and v_job = v_old.job
    and v_old.missed_max = coalesce(change_schedule_v1.missed_max, v_old.missed_max)
    and v_old.jitter_ms = coalesce(change_schedule_v1.jitter_ms, v_old.jitter_ms)
    and (v_old.paused_at is not null) = coalesce(change_schedule_v1.paused, v_old.paused_at is not null);
  if v_same then
    return 'same';
  end if;
  if v_moves and change_schedule_v1.next_at is null then
    raise exception 'next_at is missing: the first tick from now on' using errcode = '22004';
  end if;
  update fairmill.schedule s
  set cron = coalesce(change_schedule_v1.cron, s.cron), timezone = coalesce(change_schedule_v1.timezone, s.timezone),
    job = v_job, missed_max = coalesce(change_schedule_v1.missed_max, s.missed_max),
    jitter_ms = coalesce(change_schedule_v1.jitter_ms, s.jitter_ms),
    -- A tick that is due now is not lost by a change of something else.
    next_at = case when v_moves then change_schedule_v1.next_at else s.next_at end,
    moved_at = case when v_moves then clock_timestamp() else s.moved_at end,
    paused_at = case when change_schedule_v1.paused is null then s.paused_at
      when change_schedule_v1.paused then coalesce(s.paused_at, now()) end,
    not_before = null, last_error = null, edited_at = clock_timestamp(), revision = s.revision + 1,
    -- Never the same value again: it is what the next editor compares.
    updated_at = greatest(clock_timestamp(), s.updated_at + interval '1 millisecond')
  where s.name = change_schedule_v1.name;
  perform fairmill.wake_v1('{}', greatest(0, extract(epoch from s.next_at - clock_timestamp()) * 1000)::float8)
  from fairmill.schedule s
  where s.name = change_schedule_v1.name and s.paused_at is null;
  return 'changed';
end
$$;
