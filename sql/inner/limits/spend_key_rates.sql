-- Spends the rate of keys that have room for their jobs, all of them in one statement. Part of rates_of_keys, under the
-- locks of the meters.
--   names   keys of one kind;  ctids: of their meters, as lock_meters returned; null: to be looked for
--   count   this many jobs of each want to start;  rate_*: of the rule;  at: the time, read under the locks
-- Result: the keys that have too little room; nothing is spent for them.
-- Asks and writes the same as rate_room and rate_spend do, key by key: written out, because to call them for each costs
-- more than everything else. What is true of most meters is asked first: it has room even if all in its list counts,
-- and nothing in it is over yet.
-- Locks: none: the caller has 17 key meter.
-- Plan expected: the meters by their ctids.
create or replace function fairmill.spend_key_rates(names text[], ctids tid[], count integer, rate_limit integer,
  rate_per_ms bigint, rate_how text, at timestamptz)
returns text[]
language plpgsql
as $$
#variable_conflict use_column
declare
  v_uniform constant boolean := rate_how = 'uniform';
  v_most    constant integer := case when v_uniform then 1 else rate_limit end;
  -- What was spent until then no longer counts.
  v_from    constant timestamptz := at - case when v_uniform
    then ceil(rate_per_ms * 1000.0 / rate_limit)::float8 * interval '1 microsecond'
                                         else rate_per_ms * interval '1 millisecond' end;
  -- The 256th of the period that is current.
  v_step    constant float8 := rate_per_ms / 256000.0;
  v_begin   constant timestamptz := to_timestamp((ceil(extract(epoch from at)::float8 / v_step) - 1) * v_step);
  -- What a meter holds that was empty.
  v_moments constant timestamptz[] := array[at];
  v_counts  constant integer[] := array[spend_key_rates.count];
  v_ctids  constant tid[] := coalesce(ctids, fairmill.meter_ctids('start', 'key', names));
  v_spent   integer;
begin
  if spend_key_rates.count > v_most then
    return names;
  end if;
  update fairmill.meter m
  set used_at = date_trunc('hour', at),
      spent_at = case when v_uniform or m.spent_at is null then v_moments
        when m.spent_at[1] > v_from and m.spent_at[cardinality(m.spent_at)] <= v_begin then m.spent_at || v_moments
        when m.spent_at[cardinality(m.spent_at)] > v_begin
          then m.spent_at[width_bucket(v_from, m.spent_at) + 1 : cardinality(m.spent_at) - 1]
            || greatest(m.spent_at[cardinality(m.spent_at)], at)
        else m.spent_at[width_bucket(v_from, m.spent_at) + 1 :] || v_moments end,
      spent = case when v_uniform or m.spent_at is null then v_counts
        when m.spent_at[1] > v_from and m.spent_at[cardinality(m.spent_at)] <= v_begin then m.spent || v_counts
        when m.spent_at[cardinality(m.spent_at)] > v_begin
          then m.spent[width_bucket(v_from, m.spent_at) + 1 : cardinality(m.spent) - 1]
            || array[m.spent[cardinality(m.spent)] + spend_key_rates.count]
        else m.spent[width_bucket(v_from, m.spent_at) + 1 :] || v_counts end
  where m.ctid = any (v_ctids)
    and case
      when m.spent_at is null then true
      when v_uniform then m.spent_at[cardinality(m.spent_at)] <= v_from
      -- If none is more than its part of the room, all together are not more than the room: a fifth of what the sum
      -- takes.
      when (v_most - spend_key_rates.count) / cardinality(m.spent) >= all (m.spent) then true
      else coalesce((select sum(s.count) from unnest(m.spent[width_bucket(v_from, m.spent_at) + 1 :]) as s (count)),
        0) <= v_most - spend_key_rates.count end;
  get diagnostics v_spent = row_count;
  if v_spent = cardinality(names) then
    return '{}';
  end if;
  -- A meter that was written has a new ctid: those still found here were not spent.
  return array(select m.name from fairmill.meter m where m.ctid = any (v_ctids));
end
$$;
