-- What a job that is run once more uses of named limits: as before, without what its runs said, and without what is no
-- longer limited. Null: nothing.
create or replace function fairmill.uses_again(uses jsonb)
returns jsonb
language plpgsql stable
as $$
#variable_conflict use_column
begin
  if uses is null then
    return null;
  end if;
  return (
    select jsonb_agg(jsonb_build_object('limit', u.use -> 'limit', 'key', u.use -> 'key', 'units', coalesce((
        select jsonb_object_agg(e.unit, e.units) from jsonb_each(u.use -> 'units') as e (unit, units)
        where jsonb_path_exists(l.windows, '$[*] ? (@.unit == $unit)', jsonb_build_object('unit', e.unit))), '{}'))
      order by u.n)
    from jsonb_array_elements(uses) with ordinality as u (use, n)
    cross join lateral (select fairmill.windows_in_force(u.use ->> 'limit') as windows offset 0) l
    where l.windows is not null);
end
$$;
