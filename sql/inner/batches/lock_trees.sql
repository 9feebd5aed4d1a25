-- Takes the lock of whole trees of batches: the row of the outermost one. A session that counts members, ends batches
-- or starts nodes has it: all of that happens one after the other in a tree, and there is one order of locks: jobs,
-- trees by id, then what callbacks need.
-- FOR NO KEY UPDATE: a session that adds members does not conflict.
--   batches  any batches of the trees; refused with FM003 in a transaction that is not READ COMMITTED
-- Locks: 11 tree.
-- Plan expected: the primary key of batch.
create or replace function fairmill.lock_trees(batches bigint[])
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  -- A session under the lock must see what the session before it has ended: with an old snapshot each of two last
  -- members takes the other for alive, and no session ends the batch around them.
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'batches need the isolation level READ COMMITTED, this transaction has %',
      current_setting('transaction_isolation') using errcode = 'FM003', hint =
        'End members of batches, and call upkeep, outside of transactions of a higher level, or set '
        'default_transaction_isolation for this role.';
  end if;
  perform from fairmill.batch r
  where r.id = any (array(select b.root from fairmill.batch b where b.id = any (batches)))
  order by r.id for no key update;
end
$$;
