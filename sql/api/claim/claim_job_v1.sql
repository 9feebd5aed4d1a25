-- Claims one given job, past the order of its lane: for callers that know which job they want to run.
-- Result: the job as claim_v1 gives it; no row where it may not start now, and why_v1 says why: it is not ready,
-- another session has it, or a limit or a pause holds it back.
--   worker_id  a worker registered by register_v1, whatever its queues are; its heartbeats keep the job
-- Locks: as claim_limited.
-- Plan expected: the job by the primary key; then claim_limited of one lane.
create or replace function fairmill.claim_job_v1(worker_id text, job_id bigint)
returns setof fairmill.claimed_job
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job record;
begin
  if not exists (select from fairmill.worker w where w.id = worker_id and w.state = 'alive') then
    raise exception 'worker "%" is not alive', worker_id using errcode = 'FM002',
      hint = 'Register it with register_v1 and send heartbeats; a worker that was declared lost needs a new name.';
  end if;
  -- Its state is asked of the row, not of an index: with some statistics that would be a walk along a lane.
  select j.queue, j.priority, j.tenant, j.kind, j.state into v_job from fairmill.job j where j.id = job_id;
  if v_job.state is distinct from 'ready' then
    return;
  end if;
  return query
    select c.* from fairmill.claim_limited(worker_id, array[v_job.queue], array[v_job.priority], array[v_job.tenant],
      array[0::bigint], array[1], array[v_job.kind], 1, true, null, array[job_id]) c
    -- Rows of jobs that limits held back are not used here.
    where c.id is not null;
end
$$;
