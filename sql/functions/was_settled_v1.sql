-- Was this very lease settled before by this worker? Asked only for jobs that a settle did not find, so that a settle repeated after
-- its answer was lost on the way is told the truth. The proof of an end is the history; of a retry, the failure it recorded.
-- A snooze or release leaves no trace but the waiting job itself, and there a wrong yes costs nothing: the job waits either way.
create or replace function fairmill.was_settled_v1(worker_id text, job_id bigint, lease integer, verdict text)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
  select exists (select from fairmill.job_history h where h.id = job_id and h.lease_no = lease and h.worker = worker_id)
      or verdict in ('retry', 'snooze', 'release') and exists (
        select from fairmill.job j where j.id = job_id and j.lease_no = lease and j.state <> 'running'
          and (verdict <> 'retry' or (j.failures -> -1 ->> 'lease_no')::integer = lease and j.failures -> -1 ->> 'worker' = worker_id))
$$;
