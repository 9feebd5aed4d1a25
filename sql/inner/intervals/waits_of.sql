-- How long these jobs waited from when they were due until they were started, as {"kinds": {kind: …}, "tenants":
-- {tenant: …}} with {"waits", "wait_ms", "wait_hist"}, the last one counts per bucket. Jobs that are neither running
-- nor ended within two hours are left out: a job that was put back has no start.
--   ids         the jobs;  kinds, tenants: the names that have members of their own; all others are counted under ''
--   buckets_ms  upper bounds of the histogram, inclusive
-- Plan expected: each job by its primary key, then by that of the history's partitions of the last hours.
create or replace function fairmill.waits_of(ids bigint[], kinds text[], tenants text[], buckets_ms float8[])
returns jsonb
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_waits jsonb;
begin
  -- Nothing was claimed: the statement below is not even planned.
  if cardinality(ids) = 0 then
    return '{"kinds": {}, "tenants": {}}';
  end if;
  with waited as materialized (
    select case when s.kind = any (kinds) then s.kind else '' end as kind,
      case when s.tenant = any (tenants) then s.tenant else '' end as tenant,
      greatest(0, extract(epoch from s.started_at - s.due) * 1000)::float8 as ms
    from unnest(ids[1:1000]) as i (id)
    cross join lateral (
      select j.kind, j.tenant, j.started_at, coalesce(j.run_at, j.created_at) as due from fairmill.job j
      where j.id = i.id and j.started_at is not null
      union all
      (select h.kind, h.tenant, h.started_at, coalesce(h.run_at, h.created_at) from fairmill.job_history h
      where h.id = i.id and h.ended_at > now() - interval '2 hours' and h.started_at is not null limit 1)) s),
  bucketed as (
    select n.scope, n.name, width_bucket(w.ms, buckets_ms) as bucket, count(*)::integer as count, sum(w.ms) as ms
    from waited w
    cross join lateral (values ('kinds', w.kind), ('tenants', w.tenant)) as n (scope, name)
    group by 1, 2, 3),
  named as (
    select b.scope, b.name, jsonb_build_object('waits', sum(b.count), 'wait_ms', round(sum(b.ms)::numeric, 1),
      'wait_hist', (
        select jsonb_agg(coalesce(x.count, 0) order by n.bucket) from generate_series(0, max(b.bucket)) as n (bucket)
        left join bucketed x on x.scope = b.scope and x.name = b.name and x.bucket = n.bucket)) as figures
    from bucketed b
    group by b.scope, b.name)
  select jsonb_build_object(
    'kinds', (select coalesce(jsonb_object_agg(n.name, n.figures), '{}') from named n where n.scope = 'kinds'),
    'tenants', (select coalesce(jsonb_object_agg(n.name, n.figures), '{}') from named n where n.scope = 'tenants'))
    into v_waits;
  return v_waits;
end
$$;
