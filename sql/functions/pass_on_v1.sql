-- The last step of everything that makes waiting jobs ready or frees places: gives the free places of keys to whoever is blocked by them,
-- then raises the rescan marks of all queues in which a job became ready.
--   queues  in which a job became ready;  keys: of which a place became free, or a job became blocked. Null or empty: none
-- Called once a transaction, and last: keys in the order of their names and then queues in the order of theirs is one order only if
-- nobody does it twice.
-- Locks: the meters of the keys by name, blocked jobs, then the rescan marks by name.
create or replace function fairmill.pass_on_v1(queues text[], keys text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_variable
begin
  if cardinality(keys) > 0 then
    queues := array(select unnest(queues) union select a.queue from fairmill.admit_keys_v1(keys) a);
  end if;
  if cardinality(queues) > 0 then
    perform fairmill.rescan_v1(queues);
  end if;
end
$$;
