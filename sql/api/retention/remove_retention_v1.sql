-- Removes the rule of retention that was set for exactly this kind, state and tenant. Returns false where there was
-- none. A rule that the config of workers declares is removed there.
-- Locks: none.
create or replace function fairmill.remove_retention_v1(kind text default null, state text default null,
  tenant text default null)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
begin
  delete from fairmill.retention_rule r
  where r.tenant = coalesce(remove_retention_v1.tenant, '') and r.kind = coalesce(remove_retention_v1.kind, '')
    and r.state = coalesce(remove_retention_v1.state, '') and r.source = 'set';
  if not found then
    return false;
  end if;
  delete from fairmill.retention_walk;
  return true;
end
$$;
