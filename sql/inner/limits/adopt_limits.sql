-- Named limits that were defined again: what was reported before is forgotten, and jobs that wait for one of them are
-- due at once, to be asked by what is in force. Part of tick_upkeep_v1.
-- Locks: 2 report (those that are free), 19 waiting job.
-- Plan expected: the table, which has a row per limit; of each that changed a range of job_waits_for.
create or replace function fairmill.adopt_limits()
returns void
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_names text[];
begin
  with old as (
    delete from fairmill.named_limit l where l.id = any (array(
      select x.id from fairmill.named_limit x where exists (
        select from fairmill.named_limit later where later.name = x.name
          and (later.reported_at, later.id) > (x.reported_at, x.id)) for update skip locked))
    returning l.name)
  select array_agg(distinct o.name) into v_names from old o;
  if v_names is not null then
    perform fairmill.free_waiting(n.name, null) from unnest(v_names) as n (name);
  end if;
end
$$;
