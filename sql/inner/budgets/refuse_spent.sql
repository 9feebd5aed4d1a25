-- Refuses the jobs that a spent budget would keep from starting (closed_budgets). Part of store_jobs.
-- A job that is not stored anyway, because its key is known, gets its usual answer.
create or replace function fairmill.refuse_spent(jobs fairmill.new_job[])
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_kept record;
begin
  for v_kept in
    select j.n, c.budget
    from fairmill.closed_budgets(
      array(select distinct x.tenant::text from unnest(jobs) as x),
      array(select distinct x.kind::text from unnest(jobs) as x), clock_timestamp()) c
    join unnest(jobs) as j on j.tenant = c.tenant and j.kind = c.kind
    where j.conflict is null and j.refusal is null
  loop
    jobs[v_kept.n].refusal := jsonb_build_object('code', 'FAIRMILL_BUDGET_EXHAUSTED')
      || fairmill.budget_facts(v_kept.budget);
  end loop;
  return jobs;
end
$$;
