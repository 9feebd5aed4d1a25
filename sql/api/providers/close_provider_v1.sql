-- Closes a provider by hand: no call begins, and claims leave alone the jobs of kinds that need it.
--   until  null: until open_provider_v1;  note: why, for people
-- Result: false: there is no such provider.
-- Locks: 28 provider (one).
create or replace function fairmill.close_provider_v1(provider text, until timestamptz default null,
  note text default null)
returns boolean
language plpgsql
as $$
#variable_conflict use_column
declare
  v_until timestamptz := coalesce(until, 'infinity');
begin
  update fairmill.provider p set closed_until = v_until, closed_why = 'hand', closed_note = left(note, 500)
  where p.name = close_provider_v1.provider;
  if not found then
    return false;
  end if;
  insert into fairmill.provider_event (provider, event, until, detail)
  values (close_provider_v1.provider, 'closed', nullif(v_until, 'infinity'),
    jsonb_strip_nulls(jsonb_build_object('note', left(note, 500))));
  perform pg_notify('fairmill', '!provider closed ' || close_provider_v1.provider);
  return true;
end
$$;
