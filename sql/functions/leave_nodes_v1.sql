-- Tells the batches around and the nodes behind that these are over. A failure that is not tolerated fails the flow around it; what waits there
-- for success is skipped.
-- The caller has the trees' locks. Result: the nodes that wait for nobody any more.
-- Plan expected: the primary keys of batch and batch_edge; batch_inside for the nodes of a flow that failed.
create or replace function fairmill.leave_nodes_v1(batches bigint[])
returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_failing bigint[];
  v_free    bigint[];
begin
  with failed as (
    select b.parent, count(*) as batches from fairmill.batch b
    where b.id = any (batches) and b.parent is not null and b.state in ('failed', 'cancelled') and coalesce(b.on_failure, 'fail') = 'fail' group by 1),
  told as (
    update fairmill.batch p set failed = p.failed + f.batches from failed f where p.id = f.parent returning p.id)
  select array_agg(told.id) into v_failing from told;

  with left_behind as (
    select e.after, count(*) as nodes, count(*) filter (where b.state in ('failed', 'cancelled')) as fails,
      count(*) filter (where b.state = 'skipped' or b.state in ('failed', 'cancelled') and b.on_failure <> 'continue') as unmet
    from unnest(batches) as given (id)
    cross join lateral (select x.state, x.on_failure from fairmill.batch x where x.id = given.id offset 0) b
    join fairmill.batch_edge e on e.before = given.id
    group by 1),
  told as (
    update fairmill.batch n set waits = n.waits - l.nodes, fails = n.fails + l.fails, unmet = n.unmet + l.unmet
    from left_behind l where n.id = l.after and n.state = 'waiting'
    returning n.id, n.waits)
  select coalesce(array_agg(told.id) filter (where told.waits = 0), '{}') into v_free from told;

  if v_failing is not null then
    -- They wait for a success that no longer helps.
    v_free := v_free || array(select n.id from fairmill.batch n
      where n.parent = any (v_failing) and n.state = 'waiting' and n.start_when = 'succeeded' and n.id <> all (v_free));
  end if;
  return v_free;
end
$$;
