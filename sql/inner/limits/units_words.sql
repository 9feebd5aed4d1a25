-- A number of units as people read it: 198,400.
create or replace function fairmill.units_words(units bigint)
returns text
language sql immutable
as $$
  select trim(to_char(units, '999,999,999,999,999,990'))
$$;
