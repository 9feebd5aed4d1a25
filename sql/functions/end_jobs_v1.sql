-- Ends jobs that nobody settles: cancelled while waiting, expired, poisonous. Moves them to the history in one statement.
-- The caller has locked them and decided; this function only writes.
--   crashed  their worker died: that attempt is recorded as a failure
create or replace function fairmill.end_jobs_v1(ids bigint[], end_state text, reason jsonb, crashed boolean default false)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_at    timestamptz := clock_timestamp();
  v_count integer;
begin
  with ended as (delete from fairmill.job j where j.id = any (ids) returning j.*)
  insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, key, worker,
    created_at, run_at, expire_at, started_at, ended_at, payload, progress, failures, error)
  select e.id, e.lease_no, e.priority, e.attempt, e.crashes + crashed::integer, e.max_attempts, end_state, e.queue, e.tenant, e.kind, e.key, e.worker,
    e.created_at, e.run_at, e.expire_at, e.started_at, v_at, e.payload, e.progress,
    case when crashed then coalesce(e.failures, '[]') || fairmill.crash_v1(e.attempt, e.lease_no, e.worker, e.started_at, v_at) else e.failures end,
    reason
  from ended e;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
