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
  v_at    timestamptz := clock_timestamp();
  v_list  record;
  v_held  bigint[] := '{}';
  v_crash record;
begin
  recovered := 0;
  ended := 0;
  update fairmill.worker w set state = 'lost', ended_at = v_at, listening = false
  where w.id = any (array(
    select x.id from fairmill.worker x
    where x.state = 'alive' and x.lease_until < v_at
    for update skip locked));

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
  select * into v_crash from fairmill.return_crashed(v_held, crashes_max);
  recovered := v_crash.recovered;
  queues := v_crash.queues;
  select e.ended, e.freed, e.members into ended, keys, members
  from fairmill.end_jobs(v_crash.ended_ids, v_crash.states, v_crash.details, crashed => true) e;
end
$$;
