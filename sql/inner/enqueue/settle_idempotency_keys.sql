-- Brings idempotency keys in line with what became of their jobs: the key of a refused job is free again, that of a job
-- for which another one stands leads to that one. A repeat of a key in the same list shares the fate of the first.
--   stored  false: one refusal means that nothing is stored, and all keys of this list are free again
-- Locks: none: the caller has 14 idempotency key.
create or replace function fairmill.settle_idempotency_keys(jobs fairmill.new_job[], stored boolean)
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job   record;
  v_again record;
begin
  -- Row by row: a join could begin with the table and walk along it.
  for v_job in
    select j.n, j.id, j.tenant, j.kind, j.idempotency_key as key, j.conflict from unnest(jobs) as j
    where j.idempotency_key is not null
      and (j.conflict in ('kept', 'replaced') or j.conflict is null and (j.refusal is not null or not stored))
  loop
    if v_job.conflict is null then
      delete from fairmill.idempotency i where i.tenant = v_job.tenant and i.kind = v_job.kind and i.key = v_job.key;
    else
      update fairmill.idempotency i set job_id = v_job.id where i.tenant = v_job.tenant and i.kind = v_job.kind
        and i.key = v_job.key;
    end if;
  end loop;
  for v_again in
    select j.n, j.first from (
      select u.n, u.conflict, first_value(u.n) over (partition by u.tenant, u.kind, u.idempotency_key order by u.n)
        as first
      from unnest(jobs) as u where u.idempotency_key is not null) j
    where j.n <> j.first and j.conflict = 'known'
  loop
    jobs[v_again.n].id := jobs[v_again.first].id;
    jobs[v_again.n].refusal := jobs[v_again.first].refusal;
    jobs[v_again.n].conflict := case when jobs[v_again.first].refusal is null then 'known' end;
  end loop;
  return jobs;
end
$$;
