-- Takes the locks of gates or keys, in the order of their names, and makes the meters that do not exist yet. Whoever counts what runs
-- under a limit holds its lock first; a statement that begins afterwards sees everything that was committed under it.
--   use    start: for claims, settles, upkeep; enqueue: for those who enqueue, maybe in a long transaction of their own
--   scope  queue | kind | tenant | key: whoever locks several scopes does so in this order
-- Locks: the meters, by name, until the end of the transaction.
-- Plan expected: a probe of the primary key per name.
create or replace function fairmill.lock_meters_v1(use text, scope text, names text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_variable
declare
  v_names  text[];
  v_locked integer;
begin
  -- The count under the lock is right only if it sees what was committed before the lock was given.
  if current_setting('transaction_isolation') <> 'read committed' and use = 'start' then
    raise exception 'limits need the isolation level READ COMMITTED, this transaction has %', current_setting('transaction_isolation')
      using errcode = 'FM003', hint = 'Call claim, settle and upkeep outside of transactions of a higher level, or set default_transaction_isolation for this role.';
  end if;
  select array_agg(given.name order by given.name) into v_names
  from (select distinct u.name collate "C" as name from unnest(names) as u (name)) given;
  loop
    -- A meter that upkeep removes at this moment is not found: then it is made anew.
    select count(*) into v_locked
    from (select m.name from unnest(v_names) with ordinality as given (name, n)
          cross join lateral (select x.name from fairmill.meter x where x.use = lock_meters_v1.use and x.scope = lock_meters_v1.scope and x.name = given.name
                              for update) m) locked;
    exit when v_locked >= coalesce(cardinality(v_names), 0);
    insert into fairmill.meter as m (use, scope, name)
    select lock_meters_v1.use, lock_meters_v1.scope, given.name from unnest(v_names) with ordinality as given (name, n) order by given.n
    on conflict do nothing;
  end loop;
end
$$;
