-- The free slots of keys, lowest first, at most slots_max of each. A key without a limit has room for everybody: so
-- many times null.
-- The caller holds the lock under which the slots of these keys are given, and began this statement after it got it.
-- Result: a row per key: its name, its limit (null: none), its free slots.
-- Plan expected: a range of job_slot per key.
create or replace function fairmill.free_slots(keys text[], slots_max integer)
returns table (name text, max_running integer, slots integer[])
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return query
    select k.name, rule.max_running, case
      when rule.max_running is null then array_fill(null::integer, array[slots_max])
      -- Places above the limit count as well: it was higher when they were given.
      when cardinality(held.slots) >= rule.max_running then '{}'
      when rule.max_running = 1 then '{1}'
      else array(select generate_series(1, rule.max_running) except select unnest(held.slots)
        order by 1 limit least(slots_max, rule.max_running - cardinality(held.slots))) end
    from unnest(keys) as k (name)
    left join lateral (select r.max_running from fairmill.key_limit_in_force r
      where r.kind = k.name::jsonb ->> 0 offset 0) rule on true
    cross join lateral (select array(select j.slot from fairmill.job j where j.limit_key = k.name
      and j.slot is not null) as slots offset 0) held;
end
$$;
