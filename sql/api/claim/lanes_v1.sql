-- Lists the lanes of a queue in which a job is ready, highest priority first, each with the weight of its tenant: one
-- index probe per lane, however long the lane.
-- Walks backwards, because a lane's newest entries are alive while its oldest may be dead ones that vacuum cannot
-- remove yet.
--   after_priority, after_tenant  go on behind this lane; null: from the start
--   lanes_max                     at most this many lanes
-- Result: a row per lane, with the weight of its tenant.
-- Locks: none.
-- Plan expected: recursive union of backward probes of job_lane.
create or replace function fairmill.lanes_v1(queue_name text, after_priority smallint default null,
  after_tenant text default null, lanes_max integer default 5000)
returns table (priority smallint, tenant text, weight float8)
language plpgsql stable
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_is_weighted boolean := exists (select from fairmill.limit_setting g where g.weight <> 1);
  v_lowest      bigint := fairmill.level_v1(queue_name, -32768);   -- a plain bound: here the walk stops
begin
  return query
    with recursive lane (priority, tenant) as (
      (select j.priority, j.tenant from fairmill.job j
       where j.aside is null and j.state = 'ready' and j.queue = queue_name
         -- One bound for both cases (32768, above every priority: from the start): an OR could not be answered by the
         -- index, and the first probe of a page would walk over all jobs of the pages before it.
         and (fairmill.level_v1(j.queue, j.priority),
           j.tenant) < (fairmill.level_v1(queue_name, coalesce(after_priority, 32768)),
           coalesce(after_tenant, '') collate "C")
         and fairmill.level_v1(j.queue, j.priority) >= v_lowest
       order by fairmill.level_v1(j.queue, j.priority) desc, j.tenant desc limit 1)
      union all
      select next.priority, next.tenant from lane
      cross join lateral (
        select j.priority, j.tenant from fairmill.job j
        where j.aside is null and j.state = 'ready' and j.queue = queue_name
          and (fairmill.level_v1(j.queue, j.priority), j.tenant) < (fairmill.level_v1(queue_name, lane.priority),
            lane.tenant)
          and fairmill.level_v1(j.queue, j.priority) >= v_lowest
        order by fairmill.level_v1(j.queue, j.priority) desc, j.tenant desc limit 1) next
    )
    select lane.priority, lane.tenant, case when v_is_weighted
      then coalesce((select g.weight from fairmill.limit_setting g where g.scope = 'tenant' and g.name = lane.tenant),
      1) else 1 end
    from lane limit lanes_max;
end
$$;
