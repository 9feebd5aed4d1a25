-- Records what the fleet looks like now: one row of fleet_sample. The worker that evaluates alerts calls it once a
-- round.
-- Result: the row's id.
-- Locks: none but the new row's. Plan expected: backlog_by_v1; living workers by a walk of the small table.
create or replace function fairmill.record_fleet_v1()
returns bigint
language plpgsql
as $$
#variable_conflict use_column
declare
  v_id bigint;
begin
  with waiting as materialized (select * from fairmill.backlog_by_v1()),
  worker as materialized (
    select w.id, (w.stats -> 'cpu')::text::float8 as cpu, (w.stats -> 'rssBytes')::text::float8 as memory,
      row_number() over (order by w.started_at, w.id) as no
    from fairmill.worker w where w.state = 'alive' and w.lease_until > clock_timestamp()
      and jsonb_typeof(w.stats -> 'rssBytes') = 'number'),
  used as (
    select case when w.no <= 50 then w.id else '' end as name, sum(w.cpu) as cpu, sum(w.memory) as memory
    from worker w group by 1)
  insert into fairmill.fleet_sample as s (is_more, queues, kinds, tenants, workers)
  values (coalesce((select bool_or(w.is_more) from waiting w), false),
    fairmill.waiting_by_name((
      select jsonb_agg(jsonb_build_object('name', w.queue, 'reason', w.reason, 'jobs', w.jobs)) from waiting w)),
    fairmill.waiting_by_name((
      select jsonb_agg(jsonb_build_object('name', w.kind, 'reason', w.reason, 'jobs', w.jobs)) from waiting w)),
    fairmill.waiting_by_name((
      select jsonb_agg(jsonb_build_object('name', w.tenant, 'reason', w.reason, 'jobs', w.jobs)) from waiting w)),
    coalesce((
      select jsonb_object_agg(u.name, jsonb_strip_nulls(
        jsonb_build_object('cpu', round(u.cpu::numeric, 4), 'memory', u.memory::bigint)))
      from used u), '{}'))
  returning s.id into v_id;
  return v_id;
end
$$;
