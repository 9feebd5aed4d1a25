-- Refuses an object with a field that is not known: a misspelt filter must not mean everything, nor a misspelt setting
-- nothing.
--   given  the object; null has no fields;  what: as the caller calls it
create or replace function fairmill.check_fields(given jsonb, known text[], what text)
returns void
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_unknown text;
begin
  select f.field into v_unknown from jsonb_object_keys(given) as f (field) where f.field <> all (known) limit 1;
  if found then
    raise exception '% has an unknown field "%"', what, v_unknown using errcode = 'FM001',
      hint = 'Known: ' || array_to_string(known, ', ') || '.';
  end if;
end
$$;
