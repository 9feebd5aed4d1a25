-- The last step of everything that makes waiting jobs ready or ends them: counts the members of batches that ended, gives the free places of keys to whoever is blocked by them,
-- then raises the rescan marks of all queues in which a job became ready.
--   queues  in which a job became ready;  keys: of which a place became free, or a job became blocked;  members: of batches, that
--           ended, as end_members_v1 takes them. Null or empty: none
-- Called once a transaction, and last: keys in the order of their names and then queues in the order of theirs is one order only if
-- nobody does it twice.
-- Locks: as end_members_v1, the meters of the keys by name, blocked jobs, then the rescan marks by name.
create or replace function fairmill.pass_on_v1(queues text[], keys text[], members jsonb default null)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
begin
  if jsonb_array_length(members) > 0 then
    perform fairmill.end_members_v1(members);
  end if;
  if cardinality(keys) > 0 then
    queues := array(select unnest(queues) union select a.queue from fairmill.admit_keys_v1(keys) a);
  end if;
  if cardinality(queues) > 0 then
    perform fairmill.rescan_v1(queues);
  end if;
end
$$;
