-- Removes a schedule. The jobs that it made stay, and so does the record of its ticks until retention removes it.
-- Result: whether there was such a schedule.
-- Locks: 1 schedule.
create or replace function fairmill.remove_schedule_v1(name text)
returns boolean
language sql
as $$
  with gone as (delete from fairmill.schedule s where s.name = remove_schedule_v1.name returning s.name)
  select exists (select from gone)
$$;
