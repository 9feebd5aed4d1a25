-- Starts nodes that wait for nobody any more, or skips them, as their start_when says.
-- The caller has the trees' locks. Result: the nodes that were skipped, and those that were started: they may be over at once.
-- Locks: whatever enqueue_many_v1 needs.
-- Plan expected: the primary key of batch, and batch_inside for flows inside a flow.
create or replace function fairmill.start_nodes_v1(nodes bigint[], out skipped bigint[], out started bigint[])
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
  v_nodes bigint[] := nodes;
  v_new   bigint[];
  v_not   bigint[];
  v_owner bigint[];
  v_jobs  jsonb;
  v_ids   bigint[];
begin
  skipped := '{}';
  started := '{}';
  -- Level by level: a flow inside a flow starts with the nodes of it that wait for nobody.
  while cardinality(v_nodes) > 0 loop
    with decided as (
      select n.id, n.waits = 0 and p.cancel_requested_at is null and case n.start_when
          when 'succeeded' then n.unmet = 0 and p.failed = 0 when 'failed' then n.fails > 0 else true end as may_start
      from fairmill.batch n cross join lateral (select x.state, x.failed, x.cancel_requested_at from fairmill.batch x where x.id = n.parent offset 0) p
      -- Those of a flow inside that has not started wait for that.
      where n.id = any (v_nodes) and n.state = 'waiting' and p.state = 'pending'),
    told as (
      update fairmill.batch n
      set state = case when d.may_start then 'pending' else 'skipped' end, started_at = case when d.may_start then clock_timestamp() end,
          ended_at = case when not d.may_start then clock_timestamp() end
      from decided d where n.id = d.id
      returning n.id, n.state)
    select coalesce(array_agg(told.id) filter (where told.state = 'pending'), '{}'), coalesce(array_agg(told.id) filter (where told.state = 'skipped'), '{}')
      into v_new, v_not from told;
    skipped := skipped || v_not;
    if exists (select from fairmill.batch c where c.parent = any (v_not)) then
      -- With a flow inside everything in it.
      update fairmill.batch c set state = 'skipped', ended_at = clock_timestamp()
      where c.id = any (fairmill.trees_below_v1(v_not)) and c.state = 'waiting';
    end if;

    select array_agg(n.id order by n.id, e.n), jsonb_agg(e.job || jsonb_build_object('batch', n.id) order by n.id, e.n) into v_owner, v_jobs
    from fairmill.batch n cross join lateral jsonb_array_elements(n.jobs) with ordinality as e (job, n) where n.id = any (v_new);
    if v_jobs is not null then
      v_ids := fairmill.enqueue_surely_v1(v_jobs);
      update fairmill.batch n set own_job = own.id
      from (select o.batch, min(v_ids[o.n]) as id from unnest(v_owner) with ordinality as o (batch, n) group by 1) own where n.id = own.batch;
    end if;
    started := started || v_new;
    v_nodes := array(select n.id from fairmill.batch n where n.parent = any (v_new) and n.state = 'waiting' and n.waits = 0);
  end loop;
end
$$;
