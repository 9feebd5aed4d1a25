-- Counts members that ended, in the transaction that ends them. The caller then advances these batches
-- (advance_batches).
--   members  array of [batch, state, when it was added], one of each job that ended
-- Result: the batches, and those in which a member died.
-- Locks: 11 tree. A session that waited for them looks in a new statement, and so sees what the session before it has
-- ended: of two last members one is the last.
-- Plan expected: the primary key of batch, by the array. What is to be added comes from a map, because a join could
-- begin with the table.
create or replace function fairmill.count_members(members jsonb, out batches bigint[], out died bigint[])
language plpgsql
as $$
#variable_conflict use_column
declare
  v_counts jsonb;   -- by batch: done, dead, cancelled, the newest
begin
  batches := array(select distinct (m.one ->> 0)::bigint from jsonb_array_elements(members) as m (one));
  perform fairmill.lock_trees(batches);
  select jsonb_object_agg(e.batch::text, jsonb_build_array(e.done, e.dead, e.cancelled, e.newest)),
    coalesce(array_agg(e.batch) filter (where e.dead > 0), '{}')
    into v_counts, died
  from (
    select (m.one ->> 0)::bigint as batch, count(*) filter (where m.one ->> 1 = 'done') as done,
      count(*) filter (where m.one ->> 1 = 'dead') as dead,
      count(*) filter (where m.one ->> 1 = 'cancelled') as cancelled, max((m.one ->> 2)::timestamptz) as newest
    from jsonb_array_elements(members) as m (one)
    group by 1) e;
  update fairmill.batch b
  set done = b.done + (v_counts -> b.id::text ->> 0)::integer, dead = b.dead + (v_counts -> b.id::text ->> 1)::integer,
    cancelled = b.cancelled + (v_counts -> b.id::text ->> 2)::integer,
    registered_at = greatest(b.registered_at, (v_counts -> b.id::text ->> 3)::timestamptz)
  where b.id = any (batches);
end
$$;
