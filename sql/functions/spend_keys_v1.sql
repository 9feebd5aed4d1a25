-- Spends the rate of keys that have room for their jobs, all of them in one statement. Part of key_rates_v1, under the locks of the meters.
--   names   keys of one kind, sorted;  count: so many jobs of each want to start;  rate_*: of the rule;  at: the moment under the locks
-- Result: the keys that have too little room; nothing is spent for them.
-- Asks and writes the same as rate_room_v1 and rate_spend_v1 do, key by key: written out, because to call them for each costs more than
-- everything else.
-- Plan expected: the meters by their places.
create or replace function fairmill.spend_keys_v1(names text[], count integer, rate_limit integer, rate_per_ms bigint, rate_how text, at timestamptz)
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_uniform constant boolean := rate_how = 'uniform';
  v_most    constant integer := case when v_uniform then 1 else rate_limit end;
  -- What was spent until then no longer counts.
  v_from    constant timestamptz := at - case when v_uniform then ceil(rate_per_ms * 1000.0 / rate_limit)::float8 * interval '1 microsecond'
                                         else rate_per_ms * interval '1 millisecond' end;
  -- What a meter holds that was empty.
  v_slots   constant timestamptz[] := (fairmill.rate_spend_v1(null, null, rate_limit, rate_per_ms, rate_how, at, count)).new_spent_at;
  v_slot    constant timestamptz := v_slots[1];
  v_counts  constant integer[] := array[spend_keys_v1.count];
  v_places  tid[];
  v_spent   text[];
begin
  if spend_keys_v1.count > v_most then
    return names;
  end if;
  v_places := fairmill.meter_places_v1('start', 'key', names);
  with spent as (
    update fairmill.meter m
    set used_at = date_trunc('hour', at),
        spent_at = case when v_uniform or m.spent_at is null or m.spent_at[cardinality(m.spent_at)] <= v_from then v_slots
          when m.spent_at[cardinality(m.spent_at)] >= v_slot then m.spent_at[width_bucket(v_from, m.spent_at) + 1 :]
          else m.spent_at[width_bucket(v_from, m.spent_at) + 1 :] || v_slots end,
        spent = case when v_uniform or m.spent_at is null or m.spent_at[cardinality(m.spent_at)] <= v_from then v_counts
          when m.spent_at[cardinality(m.spent_at)] >= v_slot
            then m.spent[width_bucket(v_from, m.spent_at) + 1 : cardinality(m.spent) - 1] || array[m.spent[cardinality(m.spent)] + spend_keys_v1.count]
          else m.spent[width_bucket(v_from, m.spent_at) + 1 :] || v_counts end
    where m.ctid = any (v_places)
      and case
        when m.spent_at is null or m.spent_at[cardinality(m.spent_at)] <= v_from then true
        when v_uniform then false
        -- Room enough even if all of a short list counts: to add it up like this is a third of what the sum over it takes.
        when cardinality(m.spent) <= 8 and m.spent[1] + coalesce(m.spent[2], 0) + coalesce(m.spent[3], 0) + coalesce(m.spent[4], 0) + coalesce(m.spent[5], 0)
          + coalesce(m.spent[6], 0) + coalesce(m.spent[7], 0) + coalesce(m.spent[8], 0) <= v_most - spend_keys_v1.count then true
        else (select sum(s.count) from unnest(m.spent[width_bucket(v_from, m.spent_at) + 1 :]) as s (count)) <= v_most - spend_keys_v1.count end
    returning m.name)
  select array_agg(s.name) into v_spent from spent s;
  if cardinality(v_spent) = cardinality(names) then
    return '{}';
  end if;
  return array(select u.name from unnest(names) as u (name) except select u.name from unnest(v_spent) as u (name));
end
$$;
