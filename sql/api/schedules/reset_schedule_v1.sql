-- Sets the next tick of a schedule that was computed while the database's clock was ahead: without this its ticks would
-- stop until the clock is there again. Ticks that were made ahead of time keep their rows, so none of them is made
-- twice.
--   revision  of the schedule from which next_at was computed: if it changed since, nothing is done
--   next_at   the first tick from now on
-- Result: whether it was done.
-- Locks: 1 schedule (if it is free).
create or replace function fairmill.reset_schedule_v1(name text, revision bigint, next_at timestamptz)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
begin
  perform from fairmill.schedule s
  where s.name = reset_schedule_v1.name and s.revision = reset_schedule_v1.revision and s.paused_at is null
    and s.moved_at > clock_timestamp()
  for update skip locked;
  if not found then
    return false;
  end if;
  update fairmill.schedule s
  set next_at = least(s.next_at, reset_schedule_v1.next_at), not_before = null, moved_at = clock_timestamp(),
    revision = s.revision + 1
  where s.name = reset_schedule_v1.name;
  return true;
end
$$;
