-- Forgets the steps of a job that does not run: its next run begins from the start. Signals that came are forgotten,
-- too.
-- Result: how many; null: the job runs, and nothing was forgotten.
-- Locks: 8 job, 9 step.
-- Plan expected: the job and its steps by their primary keys.
create or replace function fairmill.forget_steps_v1(job_id bigint)
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_count integer;
begin
  if (select j.state from fairmill.job j where j.id = forget_steps_v1.job_id for update) = 'running' then
    return null;
  end if;
  delete from fairmill.step s where s.job_id = forget_steps_v1.job_id;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
