-- Ends jobs: moves them to the history in one statement, the only place where a job leaves the table. Ends their credit
-- reservations and the messages that they were to deliver; start times that the rate of a key had given them go to
-- other jobs of the key (reuse_freed_starts).
--   ids      sorted;  states: beside ids, done | dead | cancelled; a job with any other state stays
--   details  null, or an array beside ids: result | error, outcome, captured (see end_reservations), delivery (see
--            end_sends)
--   leases   beside ids: only jobs that worker_id runs under these leases end, and an error is the failure of that run;
--            null: the caller has locked the jobs and decided
--   crashed  their process died: that attempt is recorded as a failure, with the reason of the details
-- Result: how many ended, the keys of which a slot became free (a key once for each: to count them once would sort all
-- jobs, with or without one), and those that were members of a batch: the caller finishes these as its last step
-- (finish_transitions).
-- Locks: 8 job, 10 message, 19 waiting job.
-- Plan expected: one scan of the primary key of job along the ids; what belongs to a job is then found by its index
-- among the sorted ids (width_bucket). A join with the unnested arrays was measured at two microseconds more for each
-- job. Only running jobs have a worker, so the worker alone is compared.
create or replace function fairmill.end_jobs(ids bigint[], states text[], details jsonb default null,
  leases bigint[] default null,
  worker_id text default null, crashed boolean default false, out ended integer, out freed text[], out members jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at       timestamptz := clock_timestamp();
  v_all_end  boolean := cardinality(states) = cardinality(ids) and states <@ array['done', 'dead', 'cancelled'];
  -- Of all of them, where it is the same and there are no details: then their indexes need not be found.
  v_state    text := case when v_all_end and details is null and states <@ states[1:1] then states[1] end;
  v_reservations    bigint[];
  v_held     text[];         -- the end of the job of each of these
  v_captured bigint[];
  v_messages bigint[];
  v_sent     text[];
  v_said     jsonb;
  v_keys     text[];         -- of those that a rate had put back, and beside each its start time
  v_starts   timestamptz[];
begin
  with gone as (
    delete from fairmill.job j
    where j.id = any (ids)
      and (leases is null or j.worker is not distinct from worker_id
        and j.lease_no = leases[width_bucket(j.id, (select ids))])
      and (v_all_end or states[width_bucket(j.id, (select ids))] in ('done', 'dead', 'cancelled'))
    -- First what is counted below: a row is then taken apart no further than that.
    returning case when v_state is null then width_bucket(j.id, (select ids)) end as n, j.slot, j.limit_key,
      j.rate_limited, j.reservation, j.outbox, j.batch, j.created_at, j.run_at,
      j.id, j.lease_no, j.priority, j.attempt, j.crashes, j.max_attempts, j.queue, j.tenant, j.kind, j.key,
      j.rate_limited_times, j.worker, j.expire_at, j.started_at, j.payload, j.progress, j.failures, j.rerun_of,
      j.timeout_ms, j.tags, j.trace, j.uses),
  moved as (
    insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant,
      kind, key, limit_key,
      rate_limited_times, reservation, outbox, batch, worker, created_at, run_at, expire_at, started_at, ended_at,
        payload, progress, failures, result, error, rerun_of,
      timeout_ms, tags, trace, uses)
    select g.id, g.lease_no, g.priority, g.attempt, g.crashes + crashed::integer, g.max_attempts,
      coalesce(v_state, states[g.n]), g.queue, g.tenant,
      g.kind, g.key, g.limit_key, g.rate_limited_times, g.reservation, g.outbox, g.batch, g.worker, g.created_at,
        g.run_at, g.expire_at, g.started_at, v_at,
      g.payload, g.progress,
      case when crashed then fairmill.add_attempt(g.failures,
        fairmill.crash_entry(g.attempt, g.lease_no, g.worker, g.started_at, v_at, details -> (g.n - 1) ->> 'reason'))
           when leases is not null and states[g.n] <> 'done' and details -> (g.n - 1) ? 'error'
             then fairmill.add_attempt(g.failures,
             fairmill.failure_entry(g.attempt, g.lease_no, g.worker, g.started_at, v_at,
               details -> (g.n - 1) ->> 'outcome', details -> (g.n - 1) -> 'error'))
           else g.failures end,
      details -> (g.n - 1) -> 'result', case when states[g.n] <> 'done' then details -> (g.n - 1) -> 'error' end,
        g.rerun_of,
      g.timeout_ms, g.tags, g.trace, g.uses
    from gone g)
  select count(*), array_agg(g.limit_key) filter (where g.slot is not null),
         array_agg(g.reservation) filter (where g.reservation is not null), array_agg(coalesce(v_state, states[g.n]))
           filter (where g.reservation is not null),
         array_agg((details -> (g.n - 1) ->> 'captured')::bigint) filter (where g.reservation is not null),
         array_agg(g.outbox) filter (where g.outbox is not null), array_agg(coalesce(v_state, states[g.n]))
           filter (where g.outbox is not null),
         jsonb_agg(details -> (g.n - 1)) filter (where g.outbox is not null),
         jsonb_agg(jsonb_build_array(g.batch, coalesce(v_state, states[g.n]), g.created_at))
           filter (where g.batch is not null),
         array_agg(g.limit_key) filter (where g.rate_limited), array_agg(g.run_at) filter (where g.rate_limited)
    into ended, freed, v_reservations, v_held, v_captured, v_messages, v_sent, v_said, members, v_keys, v_starts
  from gone g;
  if v_keys is not null then
    perform fairmill.reuse_freed_starts(v_keys, v_starts);
  end if;
  if v_reservations is not null then
    perform fairmill.end_reservations(v_reservations, v_held, v_captured);
  end if;
  if v_messages is not null then
    perform fairmill.end_sends(v_messages, v_sent, v_said);
  end if;
end
$$;
