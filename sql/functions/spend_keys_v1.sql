-- Locks the meters of keys and spends the rate of those that have room for all their jobs, as most have, in one statement. Part of
-- key_rates_v1.
--   names, counts  keys of one kind, sorted, and how many of each want to start;  rate_*: of its rule
--   at             the moment at which they start if they may, a moment ago
-- Result: the keys whose rate was spent. All others are locked, not decided: they have too little room, somebody of theirs waits that
-- was put back, or the locks came late.
-- It asks and writes what rate_room_v1 and rate_spend_v1 would. The moment was before the lock: whoever had it meanwhile may have spent
-- at a later one, and forgot by that. Meters keep what was spent a quarter of a second longer than it counts, and a lock that came
-- later than that decides nothing: so nothing is missing that counts at this moment.
-- Locks: the meters, in the order given, made if they are missing: on conflict locks also those that it does not update.
-- Plan expected: an insert from the arrays, whose conflicts are found by the primary key.
create or replace function fairmill.spend_keys_v1(names text[], counts integer[], rate_limit integer, rate_per_ms bigint, rate_how text, at timestamptz)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
  v_uniform constant boolean := rate_how = 'uniform';
  v_most    constant integer := case when v_uniform then 1 else rate_limit end;
  v_from    constant timestamptz := at - case when v_uniform then ceil(rate_per_ms * 1000.0 / rate_limit)::float8 * interval '1 microsecond'
                                         else rate_per_ms * interval '1 millisecond' end;
  v_keep    constant timestamptz := v_from - interval '250 milliseconds';
  v_until   constant timestamptz := at + interval '250 milliseconds';
  v_slot    constant timestamptz := (fairmill.rate_spend_v1(null, null, rate_limit, rate_per_ms, rate_how, at, 1)).new_spent_at[1];
  v_hour    constant timestamptz := date_trunc('hour', at);
  v_spent   text[];
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    -- Refuses.
    perform fairmill.lock_meters_v1('start', 'key', names);
  end if;
  with spent as (
    insert into fairmill.meter as m (use, scope, name, spent_at, spent, used_at)
    select 'start', 'key', w.name, case when w.count <= v_most then array[v_slot] end, case when w.count <= v_most then array[w.count] end, v_hour
    from unnest(names, counts) as w (name, count)
    on conflict (use, scope, name) do update
    set used_at = v_hour,
        spent_at = case when v_uniform then excluded.spent_at
          when m.spent_at[cardinality(m.spent_at)] >= v_slot then m.spent_at[width_bucket(v_keep, m.spent_at) + 1 :]
          else m.spent_at[width_bucket(v_keep, m.spent_at) + 1 :] || v_slot end,
        spent = case when v_uniform then excluded.spent
          when m.spent_at[cardinality(m.spent_at)] >= v_slot
            then m.spent[width_bucket(v_keep, m.spent_at) + 1 : cardinality(m.spent) - 1] || (m.spent[cardinality(m.spent)] + excluded.spent[1])
          else m.spent[width_bucket(v_keep, m.spent_at) + 1 :] || excluded.spent[1] end
    where not m.waits and excluded.spent is not null and clock_timestamp() < v_until
      and case when m.spent_at is null or m.spent_at[cardinality(m.spent_at)] <= v_from then true
            when v_uniform then false
            else (select sum(x.count) from unnest(m.spent[width_bucket(v_from, m.spent_at) + 1 :]) as x (count)) + excluded.spent[1] <= v_most end
    returning m.name, m.spent)
  select coalesce(array_agg(s.name), '{}') into v_spent from spent s where s.spent is not null;
  return v_spent;
end
$$;
