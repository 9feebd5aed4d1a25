-- Removes a schedule. The jobs that it made stay, and so does the record of its ticks until retention removes it.
-- Result: whether there was such a schedule.
-- Locks: the schedule.
create or replace function fairmill.unschedule_v1(name text)
returns boolean
language sql
set search_path = pg_catalog, pg_temp
as $$
  with gone as (delete from fairmill.schedule s where s.name = unschedule_v1.name returning s.name)
  select exists (select from gone)
$$;
