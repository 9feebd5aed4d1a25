-- For how long ended jobs of this sort are kept: as the most specific rule says that fits; where none does, the general
-- age. Null: for ever. A rule that names the tenant comes before one that names the kind, that before one that names
-- the state, and one that was set by hand before one that a config declares.
-- Locks: none.
-- Plan expected: the few rules, by their primary key.
create or replace function fairmill.keep_of(tenant text, kind text, state text, general_ms bigint)
returns bigint
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_keep bigint;
begin
  select r.keep_ms into v_keep from fairmill.retention_rule r
  where r.tenant in ('', keep_of.tenant) and r.kind in ('', keep_of.kind) and r.state in ('', keep_of.state)
  order by r.tenant = '', r.kind = '', r.state = '', r.source = 'declared' limit 1;
  return case when found then v_keep else general_ms end;
end
$$;
