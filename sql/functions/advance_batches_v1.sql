-- Ends those of these batches that are over, and does what follows from it, until nothing does: callbacks, nodes that start or are skipped,
-- the batches around them.
--   ended  nodes that the caller has ended himself
-- The caller has the trees' locks. A batch that is not over stays as it is, so it does no harm to name one too many.
-- Locks: the batches that end; whatever enqueue_many_v1 needs for callbacks and nodes.
-- Plan expected: the primary keys of batch and batch_edge; batch_inside for the nodes of a flow.
create or replace function fairmill.advance_batches_v1(batches bigint[], ended bigint[] default '{}')
returns void
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
  v_queue    bigint[] := batches;   -- which may be over
  v_over     bigint[];
  v_skipped  bigint[] := ended;     -- nodes that ended without having started
  v_free     bigint[];              -- nodes that wait for nobody any more
begin
  loop
    v_over := fairmill.idle_batches_v1(v_queue);
    if cardinality(v_over) > 0 then
      update fairmill.batch b
      set state = case when b.cancel_requested_at is not null then 'cancelled' when greatest(b.dead, b.failed, b.lost) > 0 then 'failed'
                       when b.cancelled > 0 then 'cancelled' else 'succeeded' end,
          ended_at = clock_timestamp(), check_at = null
      where b.id = any (v_over);
      perform fairmill.call_back_v1(array(select b.id from fairmill.batch b where b.id = any (v_over) and b.state = 'succeeded' and b.callbacks ? 'success'), 'success');
      perform fairmill.call_back_v1(v_over, 'complete');
    end if;
    v_over := v_over || v_skipped;
    exit when cardinality(v_over) = 0;

    v_free := fairmill.leave_nodes_v1(v_over);
    select n.skipped, n.started into v_skipped, v_queue from fairmill.start_nodes_v1(v_free) n;
    v_queue := v_queue || array(select distinct b.parent from unnest(v_over) as given (id)
      cross join lateral (select x.parent from fairmill.batch x where x.id = given.id offset 0) b where b.parent is not null);
  end loop;
end
$$;
