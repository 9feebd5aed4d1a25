-- The first ready job of each lane between two positions, locked or not: of a lane that a claim has passed, what it
-- stepped over because another transaction held it.
--   priorities, tenants  the lanes of the queue
--   floors, ceilings     above the one, up to the other position
--   kinds                only these kinds; null: any
-- Result: a row per lane that has one: the number of the lane in the arrays, from 1, and the job's position.
-- Locks: none.
-- Plan expected: one range of job_lane per lane.
create or replace function fairmill.first_ready_v1(queue_name text, priorities smallint[], tenants text[],
  floors bigint[], ceilings bigint[], kinds text[] default null)
returns table (n integer, id bigint)
language plpgsql stable
set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
    select lane.n::integer, ready.id
    from unnest(priorities, tenants, floors, ceilings) with ordinality as lane (priority, tenant, floor, ceiling, n)
    cross join lateral (
      select coalesce(r.turn_no, r.id) as id from fairmill.job r
      where r.aside is null and r.state = 'ready'
        and fairmill.level_v1(r.queue, r.priority) = fairmill.level_v1(queue_name, lane.priority)
          and r.queue = queue_name
        -- Equality here: where nothing is ready, the walk ends at the ceiling and not at the end of the lane.
        and r.tenant = lane.tenant and coalesce(r.turn_no, r.id) > lane.floor
        and coalesce(r.turn_no, r.id) <= lane.ceiling
        and (kinds is null or r.kind = any (kinds))
        and (r.expire_at is null or r.expire_at > now())
      order by r.tenant, coalesce(r.turn_no, r.id)
      limit 1) ready;
end
$$;
