-- Asks a batch to end: it takes no more members, its holds end, and nodes that have not started never will. Its
-- members are ended by cancel_members_v1, which is called until nothing is left.
-- Result: the state of the batch (pending while members run; ended before: as it was), or null: there is none.
-- Locks: 11 tree, then as advance_batches.
-- Plan expected: the primary key of batch.
create or replace function fairmill.cancel_batch_v1(batch_id bigint)
returns text
language plpgsql
as $$
#variable_conflict use_column
declare
  v_all   bigint[];
  v_state text;
begin
  perform fairmill.lock_trees(array[batch_id]);
  select b.state into v_state from fairmill.batch b where b.id = batch_id;
  if v_state in ('waiting', 'pending') then
    v_all := fairmill.batches_within_v1(array[batch_id]);
    update fairmill.batch b
    set cancel_requested_at = coalesce(b.cancel_requested_at, clock_timestamp()),
      state = case when b.state = 'waiting' then 'cancelled' else b.state end,
      ended_at = case when b.state = 'waiting' then clock_timestamp() end
    where b.id = any (v_all) and b.state in ('waiting', 'pending');
    delete from fairmill.batch_hold h where h.batch = any (v_all);
    -- From the inside out: ids are given from the outside in.
    perform fairmill.advance_batches(
      array(select b.id from fairmill.batch b where b.id = any (v_all) and b.state = 'pending' order by b.id desc),
      '{}', case when v_state = 'waiting' then array[batch_id] else '{}' end);
  end if;
  return (select b.state from fairmill.batch b where b.id = batch_id);
end
$$;
