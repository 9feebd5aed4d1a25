-- Looks at the batches whose check_at has come: with a hold whose time is up, waiting for more members, or locked by
-- another session at the last check. Part of upkeep. Result: how many were looked at, and which are over.
-- Locks: 11 tree (those that are free), then as advance_batches.
-- Plan expected: a range of batch_to_check, then the primary key of batch.
create or replace function fairmill.check_batches(batches_max integer default 1000,
  out checked integer, out over bigint[])
language plpgsql
as $$
#variable_conflict use_column
declare
  v_now   timestamptz := clock_timestamp();  -- a value, because a volatile function cannot bound a range of an index
  v_due   bigint[];
  v_roots bigint[];
begin
  v_due := array(
    select b.id from fairmill.batch b
    where b.check_at is not null and b.check_at <= v_now
    order by b.check_at limit batches_max);
  checked := 0;
  over := '{}';
  if cardinality(v_due) = 0 then
    return;
  end if;
  -- As lock_trees, whose locks are taken here without waiting.
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'batches need the isolation level READ COMMITTED, this transaction has %',
      current_setting('transaction_isolation') using errcode = 'FM003', hint =
        'Call upkeep outside of transactions of a higher level, or set default_transaction_isolation for this role.';
  end if;
  v_roots := array(
    select r.id from fairmill.batch r
    where r.id = any (array(select b.root from fairmill.batch b where b.id = any (v_due)))
    order by r.id for no key update skip locked);
  v_due := array(
    select b.id from fairmill.batch b
    where b.id = any (v_due) and b.root = any (v_roots) and b.check_at <= v_now);
  update fairmill.batch b set check_at = null where b.id = any (v_due);
  perform fairmill.advance_batches(v_due);
  checked := cardinality(v_due);
  over := array(select b.id from fairmill.batch b where b.id = any (v_due) and b.ended_at is not null);
end
$$;
