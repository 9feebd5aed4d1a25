-- Pauses a schedule, or lets it go on. What it would have done meanwhile is not made up for.
--   next_at  of one that goes on: its first tick from now on
-- Result: whether there is such a schedule.
-- Locks: 1 schedule.
create or replace function fairmill.pause_schedule_v1(name text, paused boolean, next_at timestamptz default null)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.schedule s
  set paused_at = case when pause_schedule_v1.paused then now() end, not_before = null, revision = s.revision + 1,
    next_at = case when pause_schedule_v1.paused then s.next_at else greatest(s.next_at, pause_schedule_v1.next_at) end,
    -- A next tick that lies further ahead may have been computed by a clock that was ahead.
    moved_at = case when pause_schedule_v1.paused or s.next_at > pause_schedule_v1.next_at then s.moved_at
      else clock_timestamp() end
  where s.name = pause_schedule_v1.name and (s.paused_at is not null) <> pause_schedule_v1.paused;
  if found and not pause_schedule_v1.paused then
    perform fairmill.wake_v1('{}', greatest(0, extract(epoch from s.next_at - clock_timestamp()) * 1000)::float8)
    from fairmill.schedule s where s.name = pause_schedule_v1.name;
  end if;
  return exists (select from fairmill.schedule s where s.name = pause_schedule_v1.name);
end
$$;
