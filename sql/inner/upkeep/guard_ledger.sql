-- Keeps packages that are older than the schema from migrating it, whatever they know of versions: a trigger on the
-- ledger, which every package writes to in the transaction of its migration. A package states its generation in the
-- setting fairmill.generation; packages from before this rule state none. An older package is refused with FM030, and
-- with it the whole migration.
-- Locks: none.
create or replace function fairmill.guard_ledger()
returns trigger
language plpgsql
as $$
declare
  v_state record;
begin
  select s.version, s.generation into v_state from fairmill.schema_state s;
  if found and coalesce(nullif(current_setting('fairmill.generation', true), '')::integer, 0) < v_state.generation then
    raise exception 'the schema "fairmill" is newer than the package that tries to migrate it: nothing was applied'
      using errcode = 'FM030',
        detail = format('Fairmill %s made it, generation %s.', v_state.version, v_state.generation),
        hint = format('Install Fairmill %s or newer, or do not migrate.', v_state.version);
  end if;
  return new;
end
$$;
