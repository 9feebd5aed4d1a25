-- Cancels a job. Result: cancelled (it was waiting and has ended), requested (it is running; its handler is notified),
-- ended (it had ended before), or not_found.
-- Locks: 8 job, then as end_jobs, then as finish_transitions.
create or replace function fairmill.cancel_v1(job_id bigint)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job fairmill.job;
begin
  select * into v_job from fairmill.job j where j.id = job_id for update;
  if not found then
    return case when exists (select from fairmill.job_history h where h.id = job_id) then 'ended' else 'not_found' end;
  end if;
  if v_job.state = 'running' then
    update fairmill.job j
    set cancel_requested_at = coalesce(j.cancel_requested_at, clock_timestamp())
    where j.id = job_id;
    perform pg_notify('fairmill', '!cancel ' || v_job.worker);
    return 'requested';
  end if;
  perform fairmill.finish_transitions(null, e.freed, e.members)
  from fairmill.end_jobs(array[job_id], array['cancelled']) e;
  return 'cancelled';
end
$$;
