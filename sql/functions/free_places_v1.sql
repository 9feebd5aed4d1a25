-- The free places of a key, lowest first, at most places_max. A key without a limit has room for everybody: so many times null.
-- The caller holds the lock under which the places of this key are given, and began this statement after it got it.
-- Plan expected: a range of job_slot.
create or replace function fairmill.free_places_v1(of_key text, places_max integer)
returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_max  integer := (select r.max_running from fairmill.key_rule r where r.kind = of_key::jsonb ->> 0);
  v_held integer[];
begin
  if v_max is null then
    return array_fill(null::integer, array[places_max]);
  end if;
  v_held := array(select j.slot from fairmill.job j where j.limit_key = of_key and j.slot is not null);
  -- Places above the limit count as well: it was higher when they were given.
  if cardinality(v_held) >= v_max then
    return '{}';
  end if;
  return array(select generate_series(1, v_max) except select unnest(v_held) order by 1 limit least(places_max, v_max - cardinality(v_held)));
end
$$;
