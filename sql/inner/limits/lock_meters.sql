-- Takes the locks of limits or keys, in the order of their names, and makes the meters that do not exist yet. A session
-- that counts what runs under a limit holds its lock first; a statement that begins afterwards sees everything that was
-- committed under it.
--   use    start: for claims, settles, upkeep; enqueue: for enqueues, perhaps in a long transaction of the caller
--   scope  queue | kind | tenant | key: claims lock several scopes in this order; enqueues lock in alphabetical order
--   are_sorted  the caller guarantees that the names are distinct and sorted (collation C)
-- Result: where the meters stand in the table, in the order of their names, which is true for as long as they are
-- locked; null: unknown, because some had to be made (meter_ctids looks for them).
-- Locks: 5 limit meter, 16 enqueue meter or 17 key meter. Where some are missing, one insert goes through all of them
-- in their order: its conflict waits for a session that makes the same one, and locks what is there. To lock those that
-- exist and then to make the others would be two orders, and two callers could wait for each other.
-- Plan expected: two probes of the primary key per name, backwards: a meter is written by nearly every claim, and while
-- an old snapshot is open no version of it can be removed. The newest stands last. The name is said as a range, because
-- an equality would make the order by void.
create or replace function fairmill.lock_meters(use text, scope text, names text[], are_sorted boolean default false)
returns tid[]
language plpgsql
set enable_sort = off
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
  if (select count(*) from unnest(v_names) as given (name)
      where (select m.name from fairmill.meter m where m.use = lock_meters.use and m.scope = lock_meters.scope
        and m.name <= given.name and m.name >= given.name order by m.name desc limit 1) is not null)
    = cardinality(v_names) then
    -- All of them exist, as a rule: they are locked in the order of the names.
    v_ctids := array(
      select there.ctid from unnest(v_names) as given (name)
      cross join lateral (select m.ctid from fairmill.meter m where m.use = lock_meters.use
        and m.scope = lock_meters.scope and m.name <= given.name and m.name >= given.name
        order by m.name desc limit 1 for update) there);
    if cardinality(v_ctids) = cardinality(v_names) then
      return v_ctids;
    end if;
  end if;
  -- A session that spends a rate writes the hour there as well: an update that changes no index.
  insert into fairmill.meter as m (use, scope, name, used_at)
  select lock_meters.use, lock_meters.scope, u.name, date_trunc('hour', now()) from unnest(v_names) as u (name)
  on conflict on constraint meter_pkey do update set used_at = m.used_at where false;
  return null;
end
$$;
