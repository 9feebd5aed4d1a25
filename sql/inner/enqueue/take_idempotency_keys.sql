-- Takes the idempotency keys of jobs: the session that inserts a key first owns it; every other job with that key is
-- known, and the owner's job stands for it. Keys are unique per tenant and kind.
-- A known job was let in when it came: what refused it here does not count.
-- Locks: 14 idempotency key.
create or replace function fairmill.take_idempotency_keys(jobs fairmill.new_job[])
returns fairmill.new_job[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_job record;
  v_id  bigint;
begin
  for v_job in
    select j.n, j.id, j.tenant, j.kind, j.idempotency_key as key from unnest(jobs) as j
      where j.idempotency_key is not null
    order by j.tenant collate "C", j.kind collate "C", j.idempotency_key collate "C", j.n
  loop
    -- Once, or twice: retention may remove a key that stood in the way before this session reads it, and then it is
    -- free.
    loop
      insert into fairmill.idempotency (tenant, kind, key, job_id) values (v_job.tenant, v_job.kind, v_job.key,
        v_job.id)
      on conflict do nothing;
      exit when found;
      -- A new statement has a new snapshot, so the row that stood in the way is visible here.
      select i.job_id into v_id from fairmill.idempotency i
      where i.tenant = v_job.tenant and i.kind = v_job.kind and i.key = v_job.key;
      if found then
        jobs[v_job.n].id := v_id;
        jobs[v_job.n].conflict := 'known';
        jobs[v_job.n].refusal := null;
        exit;
      end if;
    end loop;
  end loop;
  return jobs;
end
$$;
