-- The rows of expire_v1: ends jobs that waited longer than their time to live. The caller calls pass_on_v1 with keys and members as its
-- last step.
-- Locks: those jobs (others' are skipped).
-- Plan expected: a range of job_expiring up to now, then the rows by the primary key.
create or replace function fairmill.expire_rows_v1(jobs_max integer, out expired integer, out keys text[], out members jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_at timestamptz := clock_timestamp();  -- a value, because a volatile function cannot bound a range of an index
begin
  select e.ended, e.freed, e.members into expired, keys, members from fairmill.end_jobs_v1(
    array(select j.id from fairmill.job j where j.expire_at is not null and j.state <> 'running' and j.expire_at <= v_at
          order by j.expire_at, j.id limit jobs_max for update skip locked),
    'dead', jsonb_build_object('code', 'FAIRMILL_EXPIRED', 'message', 'The job waited longer than its time to live.')) e;
end
$$;
