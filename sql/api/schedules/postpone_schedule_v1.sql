-- Records that a schedule could not be ticked, and why: no worker tries again before a while has passed. Its ticks stay
-- due.
--   revision  of the schedule that was tried; if it changed since, nothing is done
-- Locks: 1 schedule.
create or replace function fairmill.postpone_schedule_v1(name text, revision bigint, error jsonb,
  pause interval default '10 seconds')
returns void
language sql
as $$
  update fairmill.schedule s
  set not_before = now() + pause, moved_at = greatest(s.moved_at, clock_timestamp()), last_error = error
  where s.name = postpone_schedule_v1.name and s.revision = postpone_schedule_v1.revision
$$;
