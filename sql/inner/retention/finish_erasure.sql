-- Ends the erasure of a tenant: from here on the record has no name.
-- Locks: 0 long action (the caller has it).
create or replace function fairmill.finish_erasure(erasure_id bigint)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.tenant_erasure e
  set state = 'done', phase = 'done', tenant = null, account = null, cache_prefix = null, file_prefix = null,
    cursor = '{}', error = null, ended_at = clock_timestamp(), updated_at = clock_timestamp()
  where e.id = erasure_id;
end
$$;
