-- How many jobs are ready in each of these queues, how long the oldest has been due, and how many of them wait behind
-- closed limits.
--   queue_names  at most 50 are looked at
--   closed       limits that are closed, as [{"scope": queue | kind | tenant, "name"}, …]; null: none
-- Result: a row per queue. ready is counted up to 10,000 in all queues together, but at least up to 1,000 in each:
-- is_full says that there may be more. oldest_ms: 0 in an empty queue; of a full one, the oldest of what was counted
-- and of the first jobs of 200 lanes. behind: beside each of closed, how many of the counted jobs it holds back.
-- Locks: none.
-- Plan expected: a bounded range of job_lane per queue and priority; in a full queue lanes_v1, and a probe per lane.
create or replace function fairmill.queue_depths_v1(queue_names text[], closed jsonb default null)
returns table (queue text, ready integer, is_full boolean, oldest_ms float8, behind integer[])
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_names constant text[] := queue_names[1:50];
  v_max   constant integer := greatest(1000, 10000 / greatest(1, cardinality(v_names)));
  v_at    constant timestamptz := clock_timestamp();
begin
  return query
    with level as materialized (select l.queue, l.priority from fairmill.levels() l where l.queue = any (v_names)),
    waiting as materialized (
      select q.name, r.tenant, r.kind, r.due
      from unnest(v_names) as q (name)
      cross join lateral (
        select j.tenant, j.kind, j.due
        from level l
        cross join lateral (
          select j.tenant, j.kind, coalesce(j.run_at, j.created_at) as due from fairmill.job j
          where j.aside is null and j.state = 'ready'
            and fairmill.level_v1(j.queue, j.priority) = fairmill.level_v1(l.queue, l.priority) and j.queue = l.queue
          limit v_max) j
        where l.queue = q.name
        limit v_max) r),
    counted as materialized (
      select w.name, count(*)::integer as ready, min(w.due) as oldest
      from waiting w
      group by w.name)
    select q.name, coalesce(c.ready, 0), coalesce(c.ready >= v_max, false),
      greatest(0, coalesce(extract(epoch from v_at - least(c.oldest, case when c.ready >= v_max then (
        select min(first.due)
        from fairmill.lanes_v1(q.name, lanes_max => 200) l
        cross join lateral (
          select coalesce(j.run_at, j.created_at) as due from fairmill.job j
          where j.aside is null and j.state = 'ready'
            and fairmill.level_v1(j.queue, j.priority) = fairmill.level_v1(q.name, l.priority) and j.queue = q.name
            and j.tenant = l.tenant
          order by j.tenant, coalesce(j.turn_no, j.id) limit 1) first) end)) * 1000, 0))::float8,
      array(
        select (
          select count(*)::integer from waiting w
          where w.name = q.name and k.one ->> 'name' =
            case k.one ->> 'scope' when 'tenant' then w.tenant when 'kind' then w.kind else w.name end)
        from jsonb_array_elements(coalesce(closed, '[]')) with ordinality as k (one, n)
        order by k.n)
    from unnest(v_names) as q (name) left join counted c on c.name = q.name;
end
$$;
