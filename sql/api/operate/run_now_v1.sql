-- Runs a waiting job now although its tenant, queue or kind is paused; all its other limits hold, and so does the order
-- of its key. The others stay. For one start: a retry after it waits like any other job. Safe to repeat.
-- Result: ready (a worker takes it), blocked (as soon as its key has a free slot), scheduled (a limit delays it),
-- running (it runs already), done, dead or cancelled (it has ended: retry_v1 or rerun_v1), or not_found.
-- Locks: 8 job, then as finish_transitions, then 20 queue mark.
create or replace function fairmill.run_now_v1(job_id bigint)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job    fairmill.job;
  v_before text;
begin
  select * into v_job from fairmill.job j where j.id = job_id for update;
  if not found then
    return coalesce((select h.state from fairmill.job_history h where h.id = job_id order by h.ended_at desc limit 1),
      'not_found');
  end if;
  v_before := v_job.state;
  if v_before = 'running' then
    return v_before;
  end if;
  if v_before = 'scheduled' then
    update fairmill.job j set run_at = clock_timestamp() where j.id = job_id;
    perform fairmill.finish_transitions(a.queues, a.keys) from fairmill.admit_due(array[job_id]) a;
    select * into v_job from fairmill.job j where j.id = job_id;
  end if;
  if exists (select from fairmill.limits_of(v_job) l where l.paused_at is not null) then
    insert into fairmill.pause_exception as e (job_id, lease_no, queue) values (v_job.id, v_job.lease_no, v_job.queue)
    on conflict on constraint pause_exception_pkey do update
    set lease_no = excluded.lease_no, requested_at = excluded.requested_at
    where e.lease_no <> excluded.lease_no;
    -- Wishes of jobs that have started since, or have ended: a few each time, so they never pile up.
    delete from fairmill.pause_exception e where e.ctid = any (array(
      select o.ctid from fairmill.pause_exception o
      where not exists (
        select from fairmill.job j where j.id = o.job_id and j.lease_no = o.lease_no and j.state <> 'running')
      limit 100 for update skip locked));
  end if;
  -- Workers that hold its lane back look again. One that became ready now has told them.
  if v_before = 'ready' then
    perform fairmill.raise_rescan_marks(array[v_job.queue]);
  end if;
  return v_job.state;
end
$$;
