-- Refuses jobs whose unique key is another job's, where their rule says so. Asked before anything is stored, because
-- one refusal means that nothing is. A key that is taken between this look and the insert makes the insert fail
-- (40001).
-- Plan expected: a probe of job_unique or of unique_period per job.
create or replace function fairmill.refuse_duplicates(jobs fairmill.new_job[])
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job record;
begin
  for v_job in
    select given.n, given.kind, holder.id
    from (select j.n, j.tenant, j.kind, j.unique_key, j.unique_for_ms is not null as is_period, j.on_conflict,
            row_number() over (partition by j.tenant, j.kind, j.unique_key order by j.n) as turn
          from unnest(jobs) as j where j.unique_key is not null and j.conflict is null and j.refusal is null) given
    cross join lateral (select fairmill.unique_holder(given.tenant, given.kind, given.unique_key, given.is_period) as id
      offset 0) holder
    -- The second of a list has the first in its way.
    where given.on_conflict = 'refuse' and (holder.id is not null or given.turn > 1)
  loop
    jobs[v_job.n].refusal := jsonb_build_object('code', 'FAIRMILL_DUPLICATE_JOB', 'kind', v_job.kind, 'job_id',
      v_job.id::text);
  end loop;
  return jobs;
end
$$;
