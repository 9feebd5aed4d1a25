-- Removes whole trees of batches whose outermost one was over before the given time, oldest first. Part of retention.
-- Returns how many rows. A tree that another session has locked is left for a later call.
-- Locks: 11 tree (those that are free).
-- Plan expected: a range of batch_over, then batch_tree and the primary keys.
create or replace function fairmill.forget_batches(before timestamptz, trees_max integer default 1000)
returns integer
language plpgsql
as $$
#variable_conflict use_column
declare
  v_roots bigint[];
  v_all   bigint[];
begin
  v_roots := array(
    select b.id from fairmill.batch b
    where b.parent is null and b.ended_at is not null and b.ended_at < before
    order by b.ended_at limit trees_max for update skip locked);
  if cardinality(v_roots) = 0 then
    return 0;
  end if;
  v_all := v_roots || array(select b.id from fairmill.batch b where b.root <> b.id and b.root = any (v_roots));
  delete from fairmill.batch_edge e where e.before = any (v_all);
  delete from fairmill.batch_hold h where h.batch = any (v_all);
  delete from fairmill.batch b where b.id = any (v_all);
  return cardinality(v_all);
end
$$;
