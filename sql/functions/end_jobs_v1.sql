-- Ends jobs that nobody settles: cancelled while waiting, expired, poisonous. Moves them to the history in one statement, gives back
-- the credits they hold, and ends the messages they were to deliver. Moments at which the rate of a key would have let them start go to
-- others of the key (take_over_moments_v1).
-- The caller has locked them and decided; this function only writes.
--   crashed  their worker died: that attempt is recorded as a failure
-- Result: how many ended, the keys of which a place became free, and those that were members of a batch: the caller passes them on
-- (pass_on_v1) as its last step.
create or replace function fairmill.end_jobs_v1(ids bigint[], end_state text, reason jsonb, crashed boolean default false,
  out ended integer, out freed text[], out members jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_at       timestamptz := clock_timestamp();
  v_holds    bigint[];
  v_messages bigint[];
  v_keys     text[];         -- of those that a rate had put back, and beside each its moment
  v_moments  timestamptz[];
begin
  with gone as (delete from fairmill.job j where j.id = any (ids) returning j.*),
  moved as (
    insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, key, limit_key,
      throttled, hold, outbox, batch, worker, created_at, run_at, expire_at, started_at, ended_at, payload, progress, failures, error, rerun_of)
    select e.id, e.lease_no, e.priority, e.attempt, e.crashes + crashed::integer, e.max_attempts, end_state, e.queue, e.tenant, e.kind, e.key, e.limit_key,
      e.throttled, e.hold, e.outbox, e.batch, e.worker, e.created_at, e.run_at, e.expire_at, e.started_at, v_at, e.payload, e.progress,
      case when crashed then fairmill.add_attempt_v1(e.failures, fairmill.crash_v1(e.attempt, e.lease_no, e.worker, e.started_at, v_at)) else e.failures end,
      reason, e.rerun_of
    from gone e)
  select count(*), array_agg(distinct e.limit_key) filter (where e.slot is not null), array_agg(e.hold) filter (where e.hold is not null),
         array_agg(e.outbox) filter (where e.outbox is not null),
         jsonb_agg(jsonb_build_array(e.batch, end_state, e.created_at)) filter (where e.batch is not null),
         array_agg(e.limit_key) filter (where e.put_back), array_agg(e.run_at) filter (where e.put_back)
    into ended, freed, v_holds, v_messages, members, v_keys, v_moments from gone e;
  if v_keys is not null then
    perform fairmill.take_over_moments_v1(v_keys, v_moments);
  end if;
  if v_holds is not null then
    perform fairmill.end_holds_v1(v_holds, array_fill(end_state, array[cardinality(v_holds)]));
  end if;
  if v_messages is not null then
    perform fairmill.end_sends_v1(v_messages, array_fill(end_state, array[cardinality(v_messages)]));
  end if;
end
$$;
