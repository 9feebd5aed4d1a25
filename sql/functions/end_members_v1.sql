-- Counts members that ended, in the transaction that ends them, and ends the batches that have none left: with that their callbacks are
-- enqueued, and the nodes behind them.
--   members  array of [batch, state, when it was added], one of each job that ended
-- Locks: the trees by id, then as advance_batches_v1. Whoever waits for them looks afterwards, in a new statement, and so sees what the one
-- before him has ended: of two last members one is the last.
-- Plan expected: the primary key of batch, by the array. What is to be added comes from a map, because a join could begin with the table.
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
  v_counts  jsonb;      -- by batch: done, dead, cancelled, the newest
  v_dead    bigint[];   -- the batches in which somebody died
begin
  perform fairmill.lock_trees_v1(v_batches);
  select jsonb_object_agg(e.batch::text, jsonb_build_array(e.done, e.dead, e.cancelled, e.newest)), array_agg(e.batch) filter (where e.dead > 0)
    into v_counts, v_dead
  from (
    select (m.one ->> 0)::bigint as batch, count(*) filter (where m.one ->> 1 = 'done') as done, count(*) filter (where m.one ->> 1 = 'dead') as dead,
      count(*) filter (where m.one ->> 1 = 'cancelled') as cancelled, max((m.one ->> 2)::timestamptz) as newest
    from jsonb_array_elements(members) as m (one) group by 1) e;
  update fairmill.batch b
  set done = b.done + (v_counts -> b.id::text ->> 0)::integer, dead = b.dead + (v_counts -> b.id::text ->> 1)::integer,
      cancelled = b.cancelled + (v_counts -> b.id::text ->> 2)::integer,
      registered_at = greatest(b.registered_at, (v_counts -> b.id::text ->> 3)::timestamptz)
  where b.id = any (v_batches);
  if v_dead is not null then
    perform fairmill.mourn_v1(v_dead);
  end if;
  perform fairmill.advance_batches_v1(v_batches);
end
$$;
