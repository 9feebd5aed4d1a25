-- Takes the idempotency keys of an array of jobs: who inserts a key first owns it, everybody else gets the owner's job.
-- Result: for every job of the array its id, and whether it is to be made. Keys are unique per tenant and kind.
-- Locks: idempotency rows in key order, so that two callers with the same keys cannot deadlock.
create or replace function fairmill.take_keys_v1(jobs jsonb, shared jsonb, out ids bigint[], out created boolean[])
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_job record;
  v_id  bigint;
begin
  select array_agg(nextval('fairmill.job_id_seq')), array_agg(true) into ids, created from jsonb_array_elements(jobs);
  for v_job in
    select given.n,
      coalesce(given.job ->> 'tenant', shared ->> 'tenant', 'default') collate "C" as tenant,
      coalesce(given.job ->> 'kind', shared ->> 'kind') collate "C" as kind,
      (given.job ->> 'idempotency_key') collate "C" as key
    from jsonb_array_elements(jobs) with ordinality as given (job, n)
    where given.job ->> 'idempotency_key' is not null
    order by 2, 3, 4, 1
  loop
    -- Once, or twice: a key that stood in the way may be removed by retention before we ask whose it is, and then it is free.
    loop
      insert into fairmill.idempotency (tenant, kind, key, job_id)
      values (v_job.tenant, v_job.kind, v_job.key, ids[v_job.n])
      on conflict do nothing;
      exit when found;
      -- A new statement has a new snapshot, so the row that stood in the way is visible here.
      select i.job_id into v_id from fairmill.idempotency i
      where i.tenant = v_job.tenant and i.kind = v_job.kind and i.key = v_job.key;
      if found then
        ids[v_job.n] := v_id;
        created[v_job.n] := false;
        exit;
      end if;
    end loop;
  end loop;
end
$$;
