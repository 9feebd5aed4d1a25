-- Takes the locks of limits or keys, in the order of their names, and makes the meters that do not exist yet. Whoever
-- counts what runs under a limit holds its lock first; a statement that begins afterwards sees everything that was
-- committed under it.
--   use    start: for claims, settles, upkeep; enqueue: for those who enqueue, maybe in a long transaction of their own
--   scope  queue | kind | tenant | key: claims lock several scopes in this order; who enqueues goes by the alphabet
--   are_sorted  the caller knows that no name is there twice and that they are sorted (collation C)
-- Result: where the meters stand in the table, in the order of their names, which is true for as long as they are
-- locked; null: nobody knows, because some had to be made (meter_ctids looks for them).
-- Locks: 5 limit meter, 16 enqueue meter or 17 key meter. Where some are missing, one insert goes through all of them
-- in their order: its conflict waits for whoever makes the same one, and locks what is there. To lock those that exist
-- and then to make the others would be two orders, and two callers could wait for each other.
-- Plan expected: one range of the primary key along the array of names. Before PostgreSQL 17 nobody makes that plan for
-- sure (see meter_ctids): there the insert is the only way.
create or replace function fairmill.lock_meters(use text, scope text, names text[], are_sorted boolean default false)
returns tid[]
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_names  text[];
  v_ctids tid[];
begin
  -- The count under the lock is right only if it sees what was committed before the lock was given.
  if use = 'start' and current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'limits need the isolation level READ COMMITTED, this transaction has %',
      current_setting('transaction_isolation')
      using errcode = 'FM003', hint =
        'Call claim, settle and upkeep outside of transactions of a higher level, or set '
          'default_transaction_isolation for this role.';
  end if;
  v_names := case when are_sorted then names
    else array(select distinct u.name collate "C" from unnest(names) as u (name) order by 1) end;
  if current_setting('server_version_num')::integer >= 170000
     and (select count(*) from fairmill.meter m where m.use = lock_meters.use and m.scope = lock_meters.scope
       and m.name = any (v_names)) = cardinality(v_names) then
    -- All of them exist, as a rule: one statement locks them in their order, at a third of what the insert takes.
    v_ctids := array(select m.ctid from fairmill.meter m where m.use = lock_meters.use and m.scope = lock_meters.scope
      and m.name = any (v_names)
                      order by m.name for update);
    if cardinality(v_ctids) = cardinality(v_names) then
      return v_ctids;
    end if;
  end if;
  -- The hour is what whoever spends a rate writes there as well: an update that changes no index.
  insert into fairmill.meter as m (use, scope, name, used_at)
  select lock_meters.use, lock_meters.scope, u.name, date_trunc('hour', now()) from unnest(v_names) as u (name)
  on conflict on constraint meter_pkey do update set used_at = m.used_at where false;
  return null;
end
$$;
