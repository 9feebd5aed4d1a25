-- Counts members that ended, in the transaction that ends them, and ends the batches that have none left: with that their callbacks are
-- enqueued, and the nodes behind them.
--   members  array of [batch, state, when it was added], one of each job that ended
-- Locks: the trees by id, then as advance_batches_v1. Whoever waits for them looks afterwards, in a new statement, and so sees what the one
-- before him has ended: of two last members one is the last.
-- Plan expected: nested loop from the array to the primary key of batch.
create or replace function fairmill.end_members_v1(members jsonb)
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
  v_batches bigint[] := array(select distinct (m.one ->> 0)::bigint from jsonb_array_elements(members) as m (one));
  v_mourned bigint[];
begin
  perform fairmill.lock_trees_v1(v_batches);
  with ended as (
    select (m.one ->> 0)::bigint as batch, count(*) filter (where m.one ->> 1 = 'done') as done, count(*) filter (where m.one ->> 1 = 'dead') as dead,
      count(*) filter (where m.one ->> 1 = 'cancelled') as cancelled, max((m.one ->> 2)::timestamptz) as newest
    from jsonb_array_elements(members) as m (one) group by 1),
  counted as (
    update fairmill.batch b
    set done = b.done + e.done, dead = b.dead + e.dead, cancelled = b.cancelled + e.cancelled, registered_at = greatest(b.registered_at, e.newest)
    from ended e where b.id = e.batch
    returning b.id, b.dead, b.death_job, b.callbacks)
  select array_agg(c.id) into v_mourned from counted c where c.dead > 0 and c.death_job is null and c.callbacks ? 'death';
  if v_mourned is not null then
    perform fairmill.call_back_v1(v_mourned, 'death');
  end if;
  perform fairmill.advance_batches_v1(v_batches);
end
$$;
