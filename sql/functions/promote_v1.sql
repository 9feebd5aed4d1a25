-- Moves due jobs on: to ready, or to blocked where their key has no free place. Returns how many; call again while it returns jobs_max.
-- Locks: the due jobs (others' are skipped), the meters of their keys, then the rescan mark of their queues.
-- Plan expected: a range of job_scheduled up to now.
create or replace function fairmill.promote_v1(jobs_max integer default 1000)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_at     timestamptz := clock_timestamp();  -- a value, because a volatile function cannot bound a range of an index
  v_due    bigint[];
  v_queues text[];
begin
  v_due := array(select s.id from fairmill.job s where s.state = 'scheduled' and s.run_at <= v_at
                 order by s.run_at, s.id limit jobs_max for update skip locked);
  if cardinality(v_due) > 0 then
    v_queues := fairmill.admit_v1(v_due);
    if cardinality(v_queues) > 0 then
      perform fairmill.rescan_v1(v_queues);
    end if;
  end if;
  return cardinality(v_due);
end
$$;
