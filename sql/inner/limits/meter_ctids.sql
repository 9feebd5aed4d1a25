-- Where the meters of these names stand in the table, in no particular order; names that have none are left out. True
-- for as long as the caller holds their locks.
-- Plan expected: a probe of the primary key per name, backwards, as in lock_meters.
create or replace function fairmill.meter_ctids(use text, scope text, names text[])
returns tid[]
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_variable
begin
  return array(
    select there.ctid from unnest(names) as given (name)
    cross join lateral (select m.ctid from fairmill.meter m
                        where m.use = meter_ctids.use and m.scope = meter_ctids.scope
                          and m.name <= given.name and m.name >= given.name
                        order by m.name desc limit 1) there);
end
$$;
