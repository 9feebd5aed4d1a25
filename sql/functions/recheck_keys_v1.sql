-- Looks again at keys of which somebody said that a job may be blocked although a place is free. Returns how many were looked at.
-- Locks: their meters by name, those jobs, then the rescan mark of their queues.
-- Plan expected: a range of meter_recheck, empty at most times.
create or replace function fairmill.recheck_keys_v1(keys_max integer default 500)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_keys   text[];
  v_queues text[];
begin
  v_keys := array(select m.name from fairmill.meter m where m.recheck order by m.name limit keys_max);
  if cardinality(v_keys) = 0 then
    return 0;
  end if;
  perform fairmill.lock_meters_v1('start', 'key', v_keys);
  -- Taken down before looking: what is found to be doubtful again raises it again.
  update fairmill.meter m set recheck = false where m.use = 'start' and m.scope = 'key' and m.name = any (v_keys) and m.recheck;
  v_queues := array(select distinct a.queue from fairmill.admit_keys_v1(v_keys) a);
  if cardinality(v_queues) > 0 then
    perform fairmill.rescan_v1(v_queues);
  end if;
  return cardinality(v_keys);
end
$$;
