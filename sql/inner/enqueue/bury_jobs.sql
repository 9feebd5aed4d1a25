-- Stores refused jobs as dead, with the refusal as their error, and counts them in their batches. For jobs that no
-- caller could enqueue again: nodes of flows and callbacks.
-- The caller has the locks of the batches' trees.
-- Locks: none: the caller has 11 tree.
create or replace function fairmill.bury_jobs(jobs fairmill.new_job[])
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job  fairmill.new_job;
  v_row  fairmill.job_history;
  v_dead jsonb;   -- by batch, how many were refused
begin
  if not exists (select from unnest(jobs) as j where j.refusal is not null) then
    return;
  end if;
  for v_job in select j.* from unnest(jobs) as j where j.refusal is not null loop
    -- Every column that the history has is kept, but for what a job gets when it is taken. The payload is set apart:
    -- JSON null is one, but no value to jsonb_populate_record.
    v_row := jsonb_populate_record(null::fairmill.job_history,
      to_jsonb(v_job) - '{payload,run_at,limit_key,reservation,outbox}'::text[]
      || jsonb_build_object('lease_no', 0, 'attempt', 0, 'crashes', 0, 'rate_limited_times', 0, 'state', 'dead',
        'created_at', now(), 'ended_at', clock_timestamp(), 'error', v_job.refusal || jsonb_build_object('message',
          'The job was refused when its turn came: ' || (v_job.refusal ->> 'code') || '.')));
    v_row.payload := v_job.payload;
    insert into fairmill.job_history values (v_row.*);
  end loop;
  select jsonb_object_agg(d.batch::text, d.jobs) into v_dead
  from (select j.batch, count(*) as jobs from unnest(jobs) as j where j.refusal is not null and j.batch is not null
    group by 1) d;
  update fairmill.batch b set dead = b.dead + (v_dead ->> b.id::text)::integer
  where b.id = any (array(select k::bigint from jsonb_object_keys(v_dead) as k));
end
$$;
