-- Was this very lease settled before by this worker, with this verdict? Asked only for jobs that a settle did not find,
-- so that a settle repeated after its answer was lost on the way is told the truth. The proof of an end is the history;
-- of a retry, the failure it recorded. A snooze or release leaves no trace but the waiting job itself, not even whose
-- it was: there a wrong yes to a worker that never held it costs nothing, because the job waits either way.
-- The proof of a crash is the failure that it recorded.
-- No is the answer where recovery was first: it recorded the crash of this lease. And where release_unknown_v1 was: it
-- raised lease_no.
-- Result: true or false.
-- Locks: none.
create or replace function fairmill.was_settled_v1(worker_id text, job_id bigint, lease bigint, verdict text)
returns boolean
language sql stable
as $$
  select exists (
      select from fairmill.job_history h where h.id = job_id and h.lease_no = lease and h.worker = worker_id
        -- A job with a cancel request does not wait again: there the verdict became cancelled.
        and h.state = case when verdict in ('retry', 'snooze', 'release') then 'cancelled' else verdict end
        and (h.failures -> -1 -> 'error' ->> 'code' = 'FAIRMILL_WORKER_LOST'
          and (h.failures -> -1 ->> 'lease_no')::bigint = lease) is not true)
    or verdict in ('retry', 'snooze', 'release') and exists (
      select from fairmill.job j where j.id = job_id and j.lease_no = lease and j.state <> 'running'
        and (j.failures -> -1 -> 'error' ->> 'code' = 'FAIRMILL_WORKER_LOST'
          and (j.failures -> -1 ->> 'lease_no')::bigint = lease) is not true
        and (verdict <> 'retry' or (j.failures -> -1 ->> 'lease_no')::bigint = lease
          and j.failures -> -1 ->> 'worker' = worker_id))
    or verdict = 'crashed' and exists (
      select from (select j.lease_no, j.failures from fairmill.job j where j.id = job_id
                   union all select h.lease_no, h.failures from fairmill.job_history h where h.id = job_id) a
      where a.lease_no = lease and (a.failures -> -1 ->> 'lease_no')::bigint = lease
        and a.failures -> -1 ->> 'worker' = worker_id
        and a.failures -> -1 -> 'error' ->> 'code' = 'FAIRMILL_CHILD_LOST')
$$;
