-- Takes the locks of gates or keys, in the order of their names, and makes the meters that do not exist yet. Whoever counts what runs
-- under a limit holds its lock first; a statement that begins afterwards sees everything that was committed under it.
--   use    start: for claims, settles, upkeep; enqueue: for those who enqueue, maybe in a long transaction of their own
--   scope  queue | kind | tenant | key: claims lock several scopes in this order; who enqueues goes by the alphabet
-- Locks: the meters, by name, until the end of the transaction. Where some are missing, one insert goes through all of them in their order:
-- its conflict waits for whoever makes the same one, and locks what is there. To lock those that exist and then to make the others would
-- be two orders, and two callers could wait for each other.
-- Plan expected: one range of the primary key along the array of names. Before PostgreSQL 17 nobody makes that plan for sure (see
-- meter_places_v1): there the insert is the only way.
create or replace function fairmill.lock_meters_v1(use text, scope text, names text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_variable
declare
  v_names text[];
begin
  -- The count under the lock is right only if it sees what was committed before the lock was given.
  if use = 'start' and current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'limits need the isolation level READ COMMITTED, this transaction has %', current_setting('transaction_isolation')
      using errcode = 'FM003', hint = 'Call claim, settle and upkeep outside of transactions of a higher level, or set default_transaction_isolation for this role.';
  end if;
  v_names := array(select distinct u.name collate "C" from unnest(names) as u (name) order by 1);
  if current_setting('server_version_num')::integer >= 170000
     and cardinality(fairmill.meter_places_v1(use, scope, v_names)) = cardinality(v_names) then
    -- All of them exist, as a rule: one statement locks them in their order, at a third of what the insert takes.
    if (select count(*) from (select from fairmill.meter m where m.use = lock_meters_v1.use and m.scope = lock_meters_v1.scope and m.name = any (v_names)
                              order by m.name for update) locked) = cardinality(v_names) then
      return;
    end if;
  end if;
  -- The hour is what whoever spends a rate writes there as well: an update that changes no index.
  insert into fairmill.meter as m (use, scope, name, used_at)
  select lock_meters_v1.use, lock_meters_v1.scope, u.name, date_trunc('hour', now()) from unnest(v_names) as u (name)
  on conflict on constraint meter_pkey do update set used_at = m.used_at where false;
end
$$;
