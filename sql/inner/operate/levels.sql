-- The pairs of queue and priority in which a job is ready, at most 1000: one index probe per pair. Part of tenants_v1
-- and queues_v1.
-- Plan expected: recursive union of probes of job_lane.
create or replace function fairmill.levels()
returns table (queue text, priority smallint)
language plpgsql stable
set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
    with recursive level (queue, priority) as (
      -- Backwards, as in lanes_v1: the newest entries of a lane are alive, its oldest may be dead ones.
      (select j.queue, j.priority from fairmill.job j
      where j.aside is null and j.state = 'ready'
      order by fairmill.level_v1(j.queue, j.priority) desc limit 1)
      union all
      select next.queue, next.priority from level
      cross join lateral (
        select j.queue, j.priority from fairmill.job j
        where j.aside is null and j.state = 'ready'
          and fairmill.level_v1(j.queue, j.priority) < fairmill.level_v1(level.queue, level.priority)
        order by fairmill.level_v1(j.queue, j.priority) desc limit 1) next)
    select level.queue, level.priority from level limit 1000;
end
$$;
