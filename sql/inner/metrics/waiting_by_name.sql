-- What keeps jobs, by name: {name: {reason: jobs}} of the 50 names with most jobs, the others added up under "".
-- Part of record_fleet_v1.
--   waiting  a list of {"name", "reason", "jobs"}; a name may come again
create or replace function fairmill.waiting_by_name(waiting jsonb)
returns jsonb
language sql immutable
as $$
  with summed as (
    select x.name, x.reason, sum(x.jobs) as jobs, sum(sum(x.jobs)) over (partition by x.name) as sum
    from jsonb_to_recordset(waiting) as x (name text, reason text, jobs integer)
    group by 1, 2),
  ranked as (select s.name, s.reason, s.jobs, dense_rank() over (order by s.sum desc, s.name) as no from summed s),
  listed as (
    select case when r.no <= 50 then r.name else '' end as name, r.reason, sum(r.jobs) as jobs
    from ranked r
    group by 1, 2),
  named as (select l.name, jsonb_object_agg(l.reason, l.jobs) as reasons from listed l group by l.name)
  select coalesce(jsonb_object_agg(n.name, n.reasons), '{}') from named n
$$;
