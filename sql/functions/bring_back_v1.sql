-- Puts ended jobs back into the queue as new ones of the same id: attempts and crashes counted anew, failures and lease number kept,
-- without their time to live and without their unique key. They are scheduled for now: the caller goes on with admit_v1 and pass_on_v1.
--   ids, ends  the jobs and when each ended: together the primary key of the history
-- The caller has locked the rows and decided; this function only writes. Result: the ids that came back.
-- Plan expected: nested loop from the arrays to the primary key of the one partition that each end lies in.
create or replace function fairmill.bring_back_v1(ids bigint[], ends timestamptz[])
returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_back bigint[];
begin
  with gone as (
    delete from fairmill.job_history h using unnest(ids, ends) as given (id, ended_at)
    where h.id = given.id and h.ended_at = given.ended_at
    returning h.*),
  back as (
    insert into fairmill.job (id, lease_no, priority, max_attempts, state, queue, tenant, kind, key, limit_key, created_at, run_at, payload, failures,
      rerun_of)
    overriding system value
    select g.id, g.lease_no, g.priority, g.max_attempts, 'scheduled', g.queue, g.tenant, g.kind, g.key, g.limit_key, g.created_at, clock_timestamp(),
      g.payload, g.failures, g.rerun_of
    from gone g
    returning id)
  select array_agg(b.id) into v_back from back b;
  return coalesce(v_back, '{}');
end
$$;
