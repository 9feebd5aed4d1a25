-- The last step of everything that makes waiting jobs ready or ends them: counts the members of batches that ended and
-- advances the batches, opens batches again whose members came back, gives free slots of keys to blocked jobs, then
-- raises the rescan marks of all queues in which a job became ready.
--   queues   in which a job became ready;  keys: of which a slot became free, or a job became blocked
--   members  that ended, as count_members takes them;  revived: that came back, as reopen_batches takes them. Null or
--            empty: none
-- Called once a transaction, and last: keys in the order of their names and then queues in the order of theirs is one
-- order only if it is not done twice.
-- Locks: as count_members, then as advance_batches, then as admit_freed, then 20 queue mark.
create or replace function fairmill.finish_transitions(queues text[], keys text[], members jsonb default null,
  revived jsonb default null)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_queues text[] := queues;
begin
  if jsonb_array_length(members) > 0 then
    perform fairmill.advance_batches(c.batches, c.died) from fairmill.count_members(members) c;
  end if;
  if jsonb_array_length(revived) > 0 then
    perform fairmill.advance_batches(n.started, n.died, n.skipped)
      from fairmill.start_nodes(fairmill.reopen_batches(revived)) n;
  end if;
  if cardinality(keys) > 0 then
    v_queues := array(select unnest(v_queues) union select a.queue from fairmill.admit_blocked(keys) a);
  end if;
  if cardinality(v_queues) > 0 then
    perform fairmill.raise_rescan_marks(v_queues);
  end if;
end
$$;
