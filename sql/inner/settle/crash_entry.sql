-- The entry of job.failures for an attempt whose process died.
--   reason  null: the worker died; else how the process ended that ran the job for a supervisor
create or replace function fairmill.crash_entry(attempt smallint, lease_no bigint, worker text, started_at timestamptz,
  ended_at timestamptz, reason text default null)
returns jsonb
language sql stable
as $$
  select fairmill.failure_entry(attempt, lease_no, worker, started_at, ended_at, 'crashed', case when reason is null
    then jsonb_build_object('code', 'FAIRMILL_WORKER_LOST',
      'message', 'The worker ' || worker || ' died while it ran this job.')
    else jsonb_build_object('code', 'FAIRMILL_CHILD_LOST',
      'message', 'The process that ran this job died: ' || reason) end)
$$;
