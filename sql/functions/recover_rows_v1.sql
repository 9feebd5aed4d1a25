-- The rows of recover_v1: gives back the jobs of dead workers, or ends them. The caller calls pass_on_v1 with queues, keys and members
-- as its last step but one, and forget_hands_v1 as its last.
-- Locks: worker rows, then jobs; rows that somebody else holds are skipped: whoever settles at this moment is first.
-- Plan expected: the lists by their primary key, for each list of a dead worker the rows by the primary key of job.
create or replace function fairmill.recover_rows_v1(jobs_max integer, crashes_max integer,
  out recovered integer, out ended integer, out queues text[], out keys text[], out members jsonb)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_at     timestamptz := clock_timestamp();
  v_hand   record;
  v_held   bigint[] := '{}';
  v_cancel bigint[];
  v_poison bigint[];
  v_back   bigint[];
  v_more   record;
begin
  recovered := 0;
  ended := 0;
  update fairmill.worker w set state = 'lost', ended_at = v_at, listening = false
  where w.id = any (array(select x.id from fairmill.worker x where x.state = 'alive' and x.lease_until < v_at for update skip locked));

  for v_hand in
    select h.worker, h.ids from fairmill.hand h where not exists (select from fairmill.worker w where w.id = h.worker and w.state = 'alive')
  loop
    v_held := v_held || array(
      select j.id from fairmill.job j where j.id = any (v_hand.ids) and j.worker is not distinct from v_hand.worker
      limit jobs_max - cardinality(v_held) for update skip locked);
    exit when cardinality(v_held) >= jobs_max;
  end loop;
  if cardinality(v_held) = 0 then
    return;
  end if;
  select coalesce(array_agg(h.id) filter (where h.cancel_requested_at is not null), '{}'),
         coalesce(array_agg(h.id) filter (where h.cancel_requested_at is null and h.crashes + 1 >= crashes_max), '{}'),
         coalesce(array_agg(h.id) filter (where h.cancel_requested_at is null and h.crashes + 1 < crashes_max), '{}'),
         array_agg(distinct h.queue) filter (where h.cancel_requested_at is null and h.crashes + 1 < crashes_max)
    into v_cancel, v_poison, v_back, queues
  from fairmill.job h where h.id = any (v_held);

  update fairmill.job j
  set state = 'ready', worker = null, started_at = null, crashes = j.crashes + 1,
      failures = fairmill.add_attempt_v1(j.failures, fairmill.crash_v1(j.attempt, j.lease_no, j.worker, j.started_at, v_at))
  where j.id = any (v_back);
  recovered := cardinality(v_back);
  select e.ended, e.freed, e.members into ended, keys, members from fairmill.end_jobs_v1(v_cancel, 'cancelled', null, true) e;
  select * into v_more from fairmill.end_jobs_v1(v_poison, 'dead', jsonb_build_object(
    'code', 'FAIRMILL_POISON', 'message', 'The job was being run when its worker died, ' || crashes_max || ' times.'), true);
  ended := ended + v_more.ended;
  keys := keys || v_more.freed;
  members := coalesce(members || v_more.members, members, v_more.members);
end
$$;
