-- What a busy worker must know at its next claim: lanes in which jobs came in, the queues' rescan marks, and what
-- proves that no job was missed.
--   queues   the worker's queues;  kinds: only jobs of these kinds; null: any
--   tail     everything up to this id was looked at; null: nothing, and only the newest id is wanted
--   starts, bounds, running  windows: ids below the tail that were looked at while transactions ran that may still
--            bring some. From each start to the next one or the tail; every transaction that may is below the bound; so
--            many of them ran at the last look
--   thorough look again at windows of which some transactions have ended, not only where all have; one that begins at
--            most 100 ids below the tail is looked at again in any case: that costs next to nothing, and a job that
--            was committed a moment after a look does not wait for another one because a third transaction runs on
--   ids_max  how many ids are looked at; a window that has more is not
-- Result: a row per lane in which jobs are ready, with the position of the first and the weight of the tenant; a row
-- per queue (tenant null) with its rescan_no; one row (queue null):
--   id                     the newest id that was given away
--   looked_from, looked_to these ids were looked at: above the tail, or again from the start of a window on
--   next_xid, next_running the bound of what lies above the tail, and how many transactions below it run; next_xid
--                          null: nothing can be proved
--   still_running          for each window, how many run now
--   is_due                 a job that came in waits to be promoted
-- Why it proves something: every function takes a transaction id before it takes ids of jobs (parse_jobs,
-- enqueue_payloads_v1), ids rise (the sequence caches none), and the next transaction id is read after the newest id.
-- So a job with an id up to the newest is of a transaction below the bound. Once these have ended, a look sees all of
-- them. A snapshot names transactions without their subtransactions, which begin later and are seen with them, and
-- prepared ones like those that run.
-- Locks: none.
-- Plan expected: a range of the primary key, at most ids_max ids.
create or replace function fairmill.news_v1(queues text[], tail bigint, starts bigint[] default '{}',
  bounds bigint[] default '{}', running integer[] default '{}', thorough boolean default false,
  kinds text[] default null, ids_max integer default 10000)
returns table (queue text, priority smallint, tenant text, id bigint, weight float8, rescan_no bigint, is_due boolean,
  looked_from bigint, looked_to bigint, next_xid bigint, next_running integer, still_running integer[])
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_is_weighted boolean := exists (select from fairmill.limit_setting g where g.weight <> 1);
  v_xmax        bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  v_xips        bigint[] := array(select x.xid::text::bigint from pg_snapshot_xip(pg_current_snapshot()) as x (xid));
  v_newest      bigint := coalesce(pg_sequence_last_value('fairmill.job_id_seq'), 0);
  v_next        bigint;
  v_running     integer[] := '{}';
  v_from        bigint := coalesce(tail, v_newest);
  v_to          bigint;
begin
  -- In a transaction that has an id of its own, age() counts from that one.
  if pg_current_xact_id_if_assigned() is null
    and (select p.cache_size from pg_sequence_parameters('fairmill.job_id_seq'::regclass) p) = 1 then
    -- The next transaction id, without taking it: age() counts from it, in 32 bits. It is never below the snapshot's
    -- end.
    v_next := v_xmax + ((age('3'::xid)::bigint + 3 - v_xmax) & 4294967295);
  end if;
  for i in 1 .. coalesce(cardinality(starts), 0) loop
    -- Of the ids from the snapshot's end on none has ended, or the snapshot would end later.
    v_running := v_running || (greatest(0, bounds[i] - v_xmax)
      + (select count(*) from unnest(v_xips) as x (xid) where x.xid < bounds[i]))::integer;
    if v_from = tail and v_running[i] < running[i] and (v_running[i] = 0 or thorough or tail - starts[i] <= 100)
      and coalesce(starts[i + 1], tail) - starts[i] <= ids_max then
      v_from := starts[i];
    end if;
  end loop;
  v_to := least(v_newest, v_from + ids_max);
  return query
    with lane as materialized (
      select j.queue, j.priority, j.tenant, min(coalesce(j.turn_no, j.id)) filter (where j.state = 'ready') as first,
        bool_or(j.state = 'scheduled') as is_due
      from fairmill.job j
      where j.id > v_from and j.id <= v_to
        and (j.state = 'ready' and j.queue = any (queues) and (kinds is null or j.kind = any (kinds))
          or j.state = 'scheduled' and j.run_at <= now())
      group by j.queue, j.priority, j.tenant)
    select lane.queue, lane.priority, lane.tenant, lane.first,
      case when v_is_weighted then coalesce((select g.weight from fairmill.limit_setting g where g.scope = 'tenant'
        and g.name = lane.tenant), 1) else 1 end, null::bigint, null::boolean,
      null::bigint, null::bigint, null::bigint, null::integer, null::integer[]
    from lane where lane.first is not null
    union all
    select q.name, null, null, null, null, q.rescan_no, null, null, null, null, null, null
    from fairmill.queue q where q.name = any (queues)
    union all
    select null, null, null, v_newest, null, null, coalesce((select bool_or(lane.is_due) from lane), false),
      v_from, v_to, v_next, (v_next - v_xmax + cardinality(v_xips))::integer, v_running;
end
$$;
