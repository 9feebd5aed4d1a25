-- One entry of job.failures: an attempt that did not succeed. add_attempt adds it to the others.
create or replace function fairmill.failure_entry(attempt smallint, lease_no bigint, worker text,
  started_at timestamptz, ended_at timestamptz, outcome text, error jsonb)
returns jsonb
language sql stable
as $$
  select jsonb_build_object('attempt', attempt, 'lease_no', lease_no, 'worker', worker,
    'started_at', started_at, 'ended_at', ended_at, 'outcome', coalesce(outcome, 'failed'), 'error', error)
$$;
