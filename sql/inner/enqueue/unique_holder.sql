-- Which job holds a unique key at this moment; null: none. Asked without a lock: it may change hands the moment after.
--   for_period  the key is held for a period (unique_period), not by a job that waits or runs
-- Plan expected: a probe of job_unique, or of unique_period.
create or replace function fairmill.unique_holder(tenant_name text, kind_name text, key_name text, for_period boolean)
returns bigint
language plpgsql
as $$
#variable_conflict use_column
begin
  if for_period then
    return (select p.job_id from fairmill.unique_period p
            where p.tenant = tenant_name and p.kind = kind_name and p.key = key_name
              and p.expires_at > clock_timestamp());
  end if;
  return (select j.id from fairmill.job j
          where j.tenant = tenant_name and j.kind = kind_name and j.unique_key = key_name);
end
$$;
