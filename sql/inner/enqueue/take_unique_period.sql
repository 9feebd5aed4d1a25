-- Takes a key for a period. Who inserts its row, or finds the period over, owns the next one with the job named here.
-- Result: the job that owns the period now.
-- Locks: 18 unique key. A period that belongs to somebody else is not locked.
-- Judged by the clock, not by the transaction's time: whoever waited for another transaction began before it ended.
create or replace function fairmill.take_unique_period(tenant_name text, kind_name text, unique_key text, job_id bigint,
  for_ms float8)
returns bigint
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_owner bigint;
  v_over  boolean;
begin
  loop
    insert into fairmill.unique_period (tenant, kind, key, job_id, expires_at)
    values (tenant_name, kind_name, unique_key, job_id, clock_timestamp() + for_ms * interval '1 millisecond')
    on conflict do nothing;
    if found then
      return job_id;
    end if;
    select p.job_id, p.expires_at <= clock_timestamp() into v_owner, v_over from fairmill.unique_period p
    where p.tenant = tenant_name and p.kind = kind_name and p.key = unique_key;
    if v_over is false then
      return v_owner;
    end if;
    -- It is over, or retention has just removed it: of those who see that at the same moment one changes the row, the
    -- others look again.
    update fairmill.unique_period p set job_id = take_unique_period.job_id,
      expires_at = clock_timestamp() + for_ms * interval '1 millisecond'
    where p.tenant = tenant_name and p.kind = kind_name and p.key = unique_key and p.expires_at <= clock_timestamp();
    if found then
      return job_id;
    end if;
  end loop;
end
$$;
