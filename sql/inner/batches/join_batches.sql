-- Refuses jobs whose batch takes no more members.
-- Locks: as open_batches.
create or replace function fairmill.join_batches(jobs fairmill.new_job[])
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_open bigint[] := fairmill.open_batches(
    array(select distinct j.batch from unnest(jobs) as j where j.batch is not null));
  v_job  record;
begin
  for v_job in select j.n, j.batch from unnest(jobs) as j where j.batch is not null and j.batch <> all (v_open) loop
    jobs[v_job.n].refusal := jsonb_build_object('code', 'FAIRMILL_BATCH_ENDED', 'batch', v_job.batch::text);
  end loop;
  return jobs;
end
$$;
