-- The rows of recover_v1: gives back the jobs of dead workers, or ends them. The caller calls pass_on_v1 with queues, keys and members
-- as its last step.
-- Locks: worker rows, then jobs by id; rows that somebody else holds are skipped: whoever settles at this moment is first.
-- Plan expected: skip-scan over the workers of job_running, then one range of it per dead worker.
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
  v_dead   text[];
  v_cancel bigint[];
  v_poison bigint[];
  v_back   bigint[];
  v_more   record;
begin
  recovered := 0;
  ended := 0;
  update fairmill.worker w set state = 'lost', ended_at = v_at, listening = false
  where w.id = any (array(select x.id from fairmill.worker x where x.state = 'alive' and x.lease_until < v_at for update skip locked));

  with recursive holder (id) as (
    (select j.worker from fairmill.job j where j.state = 'running' order by j.worker limit 1)
    union all
    select (select j.worker from fairmill.job j where j.state = 'running' and j.worker > h.id order by j.worker limit 1)
    from holder h where h.id is not null)
  select coalesce(array_agg(h.id), '{}') into v_dead
  from holder h where h.id is not null and not exists (select from fairmill.worker w where w.id = h.id and w.state = 'alive');
  if cardinality(v_dead) = 0 then
    return;
  end if;

  with held as (
    select j.id, j.queue, j.crashes, j.cancel_requested_at from fairmill.job j
    where j.state = 'running' and j.worker = any (v_dead)
    order by j.worker, j.id limit jobs_max for update skip locked)
  select coalesce(array_agg(h.id) filter (where h.cancel_requested_at is not null), '{}'),
         coalesce(array_agg(h.id) filter (where h.cancel_requested_at is null and h.crashes + 1 >= crashes_max), '{}'),
         coalesce(array_agg(h.id) filter (where h.cancel_requested_at is null and h.crashes + 1 < crashes_max), '{}'),
         array_agg(distinct h.queue) filter (where h.cancel_requested_at is null and h.crashes + 1 < crashes_max)
    into v_cancel, v_poison, v_back, queues
  from held h;

  update fairmill.job j
  set state = 'ready', worker = null, started_at = null, counted = null, crashes = j.crashes + 1,
      failures = coalesce(j.failures, '[]') || fairmill.crash_v1(j.attempt, j.lease_no, j.worker, j.started_at, v_at)
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
