-- Takes the locks of keys for a claim, and makes the meters that do not exist yet: as lock_meters_v1, but in one statement also where meters
-- are missing, which is the rule for keys. Part of key_rates_v1.
--   names  of keys, sorted, each once
-- Locks: meters of use start, by name. Where some are missing, the insert goes through all of them in their order: on conflict waits for
-- whoever makes the same one and locks what is there.
-- Plan expected: a range of the primary key of meter for the list.
create or replace function fairmill.lock_keys_v1(names text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_count integer;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    -- Refuses, and says why.
    perform fairmill.lock_meters_v1('start', 'key', names);
  end if;
  select count(*) into v_count from fairmill.meter m where m.use = 'start' and m.scope = 'key' and m.name = any (names);
  if v_count = cardinality(names) then
    select count(*) into v_count
    from (select from fairmill.meter m where m.use = 'start' and m.scope = 'key' and m.name = any (names) order by m.name for update) locked;
  end if;
  if v_count < cardinality(names) then
    -- The hour is what whoever spends writes there as well: an update that changes no index.
    insert into fairmill.meter as m (use, scope, name, used_at)
    select 'start', 'key', u.name, date_trunc('hour', now()) from unnest(names) as u (name)
    on conflict (use, scope, name) do update set used_at = m.used_at where false;
  end if;
end
$$;
