-- Begins to erase what is kept of a tenant; step_erasure_v1 carries it out. An erasure of this tenant that is under way
-- goes on, and a failed one is taken up again.
--   actor, reason  for the record: the reason stays, so it should name no person
--   account        whose credits lose their name; null: none
--   cache_prefix   entries of caches whose keys begin with it; null: those whose key is the tenant's name alone
--   file_prefix, storages  files whose keys begin with it, in these storages: removed by the caller, which then says so
--                  with erased_files_v1
-- The caller has the rights of the schema's owner.
-- Result: the id of the record.
-- Locks: 0 long action.
create or replace function fairmill.start_erasure_v1(tenant text, actor text, reason text default null,
  account text default null, cache_prefix text default null, file_prefix text default null,
  storages text[] default '{}')
returns bigint
language plpgsql
as $$
#variable_conflict use_column
declare
  v_id bigint;
begin
  if not coalesce(octet_length(tenant) between 1 and 200, false) then
    raise exception 'name the tenant that is to be erased' using errcode = 'FM001';
  end if;
  -- With the caller's rights alone: a role that may call functions must not remove what it may not touch. Asked
  -- before anything is done, because a step would fail in the middle.
  if not pg_has_role(current_user,
      (select c.relowner from pg_class c where c.oid = 'fairmill.credit_entry'::regclass), 'USAGE') then
    raise exception 'only the owner of the schema "fairmill" erases tenants' using errcode = '42501',
      hint = 'Connect as the role that migrates, or as a member of it.';
  end if;
  if cache_prefix = '' or file_prefix = '' then
    raise exception 'an empty prefix would mean what belongs to everybody' using errcode = 'FM001';
  end if;
  insert into fairmill.tenant_erasure as e (tenant, tenant_digest, account, cache_prefix, file_prefix, storages, actor,
    reason)
  values (start_erasure_v1.tenant, encode(sha256(convert_to(start_erasure_v1.tenant, 'UTF8')), 'hex'),
    start_erasure_v1.account, start_erasure_v1.cache_prefix, start_erasure_v1.file_prefix,
    coalesce(start_erasure_v1.storages, '{}'), start_erasure_v1.actor, start_erasure_v1.reason)
  on conflict (tenant) where tenant is not null do update set state = 'running', error = null
  returning e.id into v_id;
  return v_id;
end
$$;
