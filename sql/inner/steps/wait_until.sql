-- Until when a job waits that has come to these waits. Part of return_jobs, in the transaction in which the job is
-- returned, so that no signal is lost between "not there yet" and "returned": the steps are locked here, and a session
-- that sends a signal writes to the step first and looks at the job afterwards.
--   lease   under which the job came to them;  due_at: unless something else is known
-- Result: due_at; null where a signal has come since: the job does not wait at all; or now, where another transaction
-- is sending one. That may take its time, and a settle does not wait for it: its commit is announced, and a worker that
-- looks then finds the job due (signal_v1).
-- Locks: 9 step (those that are free).
-- Plan expected: the steps by their primary key.
create or replace function fairmill.wait_until(job_id bigint, lease bigint, names text[], due_at timestamptz)
returns timestamptz
language plpgsql
as $$
#variable_conflict use_column
declare
  v_held text[];
  v_came boolean;
begin
  with held as (
    select s.name, s.signalled_at from fairmill.step s
    where s.job_id = wait_until.job_id and s.name = any (names) for update skip locked)
  select coalesce(array_agg(h.name), '{}'), coalesce(bool_or(h.signalled_at is not null), false) into v_held, v_came
  from held h;
  -- Written, not only locked: a sender whose transaction has an old snapshot then fails instead of believing that the
  -- job still runs.
  update fairmill.step s set lease_no = lease where s.job_id = wait_until.job_id and s.name = any (v_held);
  return case when v_came then null when v_held @> names then due_at else least(due_at, clock_timestamp()) end;
end
$$;
