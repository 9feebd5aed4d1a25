-- The rows of recover_v1: gives back the jobs of dead workers, or ends them. The caller calls finish_transitions with
-- queues, keys and members as its last step but one, and forget_claim_lists as its last.
-- Locks: 4 worker, 8 job (those that are free), then as end_jobs.
-- Plan expected: the lists by their primary key, for each list of a dead worker the rows by the primary key of job.
create or replace function fairmill.recover_rows(jobs_max integer, crashes_max integer,
  out recovered integer, out ended integer, out queues text[], out keys text[], out members jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at     timestamptz := clock_timestamp();
  v_list   record;
  v_held   bigint[] := '{}';
  v_back   bigint[];   -- ready again
  v_ids    bigint[];   -- ended, and beside each its state and the reason
  v_states text[];
  v_details jsonb;
begin
  recovered := 0;
  ended := 0;
  update fairmill.worker w set state = 'lost', ended_at = v_at, listening = false
  where w.id = any (array(select x.id from fairmill.worker x where x.state = 'alive'
    and x.lease_until < v_at for update skip locked));

  for v_list in
    select h.worker, h.ids from fairmill.claim_list h
      where not exists (select from fairmill.worker w where w.id = h.worker and w.state = 'alive')
  loop
    v_held := v_held || array(
      select j.id from fairmill.job j where j.id = any (v_list.ids) and j.worker is not distinct from v_list.worker
      limit jobs_max - cardinality(v_held) for update skip locked);
    exit when cardinality(v_held) >= jobs_max;
  end loop;
  if cardinality(v_held) = 0 then
    return;
  end if;
  -- A job that its caller asked to cancel, or that was being run when too many workers died, ends; any other is ready
  -- again.
  select coalesce(array_agg(h.id) filter (where not h.ends), '{}'), array_agg(distinct h.queue)
    filter (where not h.ends),
         array_agg(h.id order by h.id) filter (where h.ends), array_agg(h.state order by h.id) filter (where h.ends),
         jsonb_agg(h.detail order by h.id) filter (where h.ends)
    into v_back, queues, v_ids, v_states, v_details
  from (select j.id, j.queue, j.cancel_requested_at is not null or j.crashes + 1 >= crashes_max as ends,
          case when j.cancel_requested_at is null then 'dead' else 'cancelled' end as state,
          case when j.cancel_requested_at is null
            then jsonb_build_object('error', jsonb_build_object('code', 'FAIRMILL_POISON',
            'message', 'The job was being run when its worker died, ' || crashes_max || ' times.'))
              else '{}' end as detail
        from fairmill.job j where j.id = any (v_held)) h;
  update fairmill.job j
  set state = 'ready', worker = null, started_at = null, crashes = j.crashes + 1,
      failures = fairmill.add_attempt(j.failures,
        fairmill.crash_entry(j.attempt, j.lease_no, j.worker, j.started_at, v_at))
  where j.id = any (v_back);
  recovered := cardinality(v_back);
  select e.ended, e.freed, e.members into ended, keys, members
    from fairmill.end_jobs(v_ids, v_states, v_details, crashed => true) e;
end
$$;
