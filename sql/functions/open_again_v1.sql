-- Opens batches that were over, and those around them; nodes that were skipped because of them wait again.
-- The caller has the trees' locks. Result: the nodes that wait again; the caller starts those that wait for nobody.
-- Plan expected: the primary keys of batch and batch_edge.
create or replace function fairmill.open_again_v1(batches bigint[])
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
  v_level bigint[] := batches;
  v_all   bigint[] := '{}';      -- opened, from the inside out
  v_again bigint[] := '{}';
begin
  loop
    v_level := array(select b.id from fairmill.batch b where b.id = any (v_level) and b.ended_at is not null);
    exit when cardinality(v_level) = 0;
    update fairmill.batch p set failed = greatest(0, p.failed - c.batches)
    from (select b.parent, count(*) as batches from fairmill.batch b
          where b.id = any (v_level) and b.parent is not null and b.state in ('failed', 'cancelled') and coalesce(b.on_failure, 'fail') = 'fail' group by 1) c
    where p.id = c.parent;
    update fairmill.batch b set state = 'pending', ended_at = null, closed_at = null, cancel_requested_at = null, started_at = coalesce(b.started_at, clock_timestamp())
    where b.id = any (v_level);
    v_all := v_all || v_level;
    v_level := array(select distinct b.parent from fairmill.batch b where b.id = any (v_level) and b.parent is not null);
  end loop;

  -- What was skipped for want of them, and what was skipped for want of that. A flow that failed had skipped nodes elsewhere, too.
  v_level := array(
    select n.id from unnest(v_all) as opened (id) join fairmill.batch_edge e on e.before = opened.id
      cross join lateral (select x.id, x.state from fairmill.batch x where x.id = e.after offset 0) n where n.state in ('skipped', 'waiting')
    union
    select n.id from unnest(v_all) as opened (id) cross join lateral (select x.id, x.state, x.start_when from fairmill.batch x where x.parent = opened.id offset 0) n
    where n.state = 'skipped' and n.start_when = 'succeeded');
  while cardinality(v_level) > 0 loop
    v_again := v_again || v_level;
    v_level := array(
      select distinct n.id from unnest(v_level) as given (id) join fairmill.batch_edge e on e.before = given.id
        cross join lateral (select x.id, x.state from fairmill.batch x where x.id = e.after offset 0) n
      where n.state in ('skipped', 'waiting') and n.id <> all (v_again));
  end loop;
  -- With a flow that was skipped everything in it.
  v_again := array(select n.id from fairmill.batch n where n.id = any (fairmill.trees_below_v1(v_again)) and n.role = 'node' and n.state in ('skipped', 'waiting'));
  perform fairmill.wait_again_v1(v_again);
  return v_again;
end
$$;
