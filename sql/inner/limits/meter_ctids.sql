-- Where the meters of these names stand in the table, in no particular order; names that have none are left out. True
-- for as long as the caller holds their locks.
-- Plan expected: one range of the primary key along the array. Before PostgreSQL 17 such a plan is made only where
-- statistics happen to ask for it, and all meters would be read otherwise: there a probe per name, which costs three
-- times as much.
create or replace function fairmill.meter_ctids(use text, scope text, names text[])
returns tid[]
language plpgsql
as $$
#variable_conflict use_variable
begin
  if current_setting('server_version_num')::integer >= 170000 then
    return array(select m.ctid from fairmill.meter m where m.use = meter_ctids.use and m.scope = meter_ctids.scope
      and m.name = any (names));
  end if;
  return array(
    select there.ctid from unnest(names) as given (name)
    cross join lateral (select m.ctid from fairmill.meter m
                        where m.use = meter_ctids.use and m.scope = meter_ctids.scope
                          and m.name = given.name offset 0) there);
end
$$;
