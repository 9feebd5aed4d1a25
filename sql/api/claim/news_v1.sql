-- What a busy worker must know at its next claim: lanes of jobs that came in above an id, and the queues' rescan marks.
--   queues  the worker's queues;  tail: the highest id it has seen;  jobs_max: look at no more than so many new jobs
-- Result: a row per lane in which jobs came in, with the weight of its tenant; a row per queue (tenant null) with its
-- rescan_no; one row (queue null) with the new tail as id, and is_due: a job that came in waits to be promoted. When
-- jobs_max or more came in, the tail jumps to the newest job and is_full is true: the worker then asks for all lanes.
-- Plan expected: a range of the primary key above the tail, at most jobs_max rows.
create or replace function fairmill.news_v1(queues text[], tail bigint, jobs_max integer default 200)
returns table (queue text, priority smallint, tenant text, id bigint, rescan_no bigint, is_full boolean, weight float8,
  is_due boolean)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_is_weighted boolean := exists (select from fairmill.limit_setting g where g.weight <> 1);
begin
  return query
    with came as materialized (
      select j.id, j.queue, j.priority, j.tenant, j.state, j.run_at from fairmill.job j where j.id > tail
        order by j.id limit jobs_max),
    seen as (select count(*) >= jobs_max as is_full, max(came.id) as id,
      coalesce(bool_or(came.state = 'scheduled' and came.run_at <= now()), false) as is_due from came)
    select came.queue, came.priority, came.tenant, max(came.id), null::bigint, null::boolean,
      case when v_is_weighted then coalesce((select g.weight from fairmill.limit_setting g where g.scope = 'tenant'
        and g.name = came.tenant), 1) else 1 end, null::boolean
    from came where came.state = 'ready' and came.queue = any (queues)
    group by came.queue, came.priority, came.tenant
    union all
    select null, null, null, case when seen.is_full then (select max(j.id) from fairmill.job j)
      else coalesce(seen.id, tail) end, null, seen.is_full, null, seen.is_due
    from seen
    union all
    select q.name, null, null, null, q.rescan_no, null, null, null from fairmill.queue q where q.name = any (queues);
end
$$;
