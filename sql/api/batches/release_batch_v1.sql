-- Ends a hold: its holder has added everything. Result: the state of the batch, which may be over now; null: there is
-- no such hold, because it was released before or its time was up.
-- Locks: 11 tree, then as advance_batches.
create or replace function fairmill.release_batch_v1(hold_id bigint)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_batch bigint;
begin
  -- The tree first: a session that reads its holds has that lock.
  perform fairmill.lock_trees(array(select h.batch from fairmill.batch_hold h where h.id = hold_id));
  delete from fairmill.batch_hold h where h.id = hold_id returning h.batch into v_batch;
  if not found then
    return null;
  end if;
  perform fairmill.advance_batches(array[v_batch]);
  return (select b.state from fairmill.batch b where b.id = v_batch);
end
$$;
