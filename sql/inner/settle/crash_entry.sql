-- The entry of job.failures for an attempt whose worker died.
create or replace function fairmill.crash_entry(attempt smallint, lease_no bigint, worker text, started_at timestamptz,
  ended_at timestamptz)
returns jsonb
language sql stable
as $$
  select fairmill.failure_entry(attempt, lease_no, worker, started_at, ended_at, 'crashed', jsonb_build_object(
    'code', 'FAIRMILL_WORKER_LOST', 'message', 'The worker ' || worker || ' died while it ran this job.'))
$$;
