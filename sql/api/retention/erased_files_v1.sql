-- Says that files of a tenant were removed from a storage, by the caller that erases it.
--   files    how many, since the last call;  is_over: none is left there
-- Result: the state of the erasure: running, or done where this was the last storage; not_found.
-- Locks: 0 long action.
create or replace function fairmill.erased_files_v1(erasure_id bigint, storage text, files integer, is_over boolean)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_left text[];
begin
  update fairmill.tenant_erasure e
  set counts = e.counts || jsonb_build_object('files', coalesce((e.counts ->> 'files')::bigint, 0) + files),
    storages = case when is_over then array_remove(e.storages, storage) else e.storages end,
    updated_at = clock_timestamp()
  where e.id = erasure_id and e.state = 'running' and e.phase = 'files'
  returning e.storages into v_left;
  if v_left = '{}' then
    perform fairmill.finish_erasure(erasure_id);
  end if;
  return coalesce((select e.state from fairmill.tenant_erasure e where e.id = erasure_id), 'not_found');
end
$$;
