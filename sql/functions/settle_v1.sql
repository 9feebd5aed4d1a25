-- Settles a group of running jobs in one transaction. Only the holder of the fence (worker and lease_no) is heard.
--   worker_id  who ran them;  ids, leases: the jobs and the lease_no each was claimed with; best sorted by id
--   verdicts   done | dead | cancelled: the job ends and moves to the history
--              retry   wait delay_ms, then again; the attempt is spent and its error kept
--              snooze  wait delay_ms, then again; the attempt is given back
--              release back to the queue at once; the attempt is given back
--   details    null, or an array beside ids: result | error, outcome, delay_ms, waits (of a snooze: the signals that end it before),
--              delivery (of a delivery job: outcome, answer, error: see end_sends_v1), effects (jobs and messages: see apply_effects_v1).
--              These are written if the fence holds and this very call settles the job. If they are refused, nothing is settled, and
--              error FM020 says whose
-- Result: how many were accepted, and the ids that were not: their lease was lost. Repeating a call is safe: what it settled
-- before counts as accepted. A job that somebody asked to cancel does not wait again: it ends as cancelled.
-- admitted: of the jobs that got a place under a key because one of these gave it up the first of each lane, as [queue, priority, tenant,
-- id]; null: none. Their ids are old: a worker that keeps floors looks below them. Who sleeps is woken; all others find them by their next scan. With effects, also
-- the first new job of each lane.
-- Locks: the jobs by id, their rows of the outbox, with effects what these lock, as end_members_v1 where they are members of a batch, the
-- meters of the keys whose places became free by name, then the rescan mark of their queues. Effects come after the verdicts, so that a job
-- may enqueue its successor under the same key, before batches are counted, so that none ends too early, and before the meters, so that no
-- other settle waits for one that waits for a caller's transaction.
-- Plan expected: one scan of the primary key of job along the ids; what belongs to a job is then found by its place among the sorted ids
-- (width_bucket). A join with the unnested arrays was measured at two microseconds more for each job. Only running jobs have a worker, so
-- the worker alone is compared.
create or replace function fairmill.settle_v1(worker_id text, ids bigint[], leases bigint[], verdicts text[], details jsonb default null,
  out accepted integer, out refused bigint[], out admitted jsonb)
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
  v_waiting  integer := 0;
  v_ended    integer := 0;
  v_given_up text[];
  v_released text[];
  v_freed    text[];
  v_holds    bigint[];
  v_states   text[];
  v_members  jsonb;
  v_messages bigint[];
  v_ends     text[];
  v_said     jsonb;
  v_verdicts text[] := verdicts;
  v_mine     bigint[];   -- with effects: whose fence holds
  v_made     jsonb;
  v_all_end  boolean;    -- no verdict lets a job wait
  v_verdict  text;       -- of all of them, where it is the same and nobody has details
  v_at       timestamptz := clock_timestamp();
begin
  if worker_id is null then
    raise exception 'settle_v1 needs the worker that ran the jobs' using errcode = 'FM001';
  end if;
  if ids <> array(select i from unnest(ids) as i order by i) then
    select s.accepted, s.refused, s.admitted into accepted, refused, admitted
    from (select array_agg(u.id order by u.id) as ids, array_agg(u.lease_no order by u.id) as leases, array_agg(u.verdict order by u.id) as verdicts,
            case when details is not null then jsonb_agg(details -> (u.n - 1)::integer order by u.id) end as details
          from unnest(ids, leases, verdicts) with ordinality as u (id, lease_no, verdict, n)) sorted
    cross join lateral fairmill.settle_v1(worker_id, sorted.ids, sorted.leases, sorted.verdicts, sorted.details) s;
    return;
  end if;
  if details is not null and jsonb_path_exists(details, '$[*].effects') then
    -- From here on nobody can take these jobs away: what they asked for is theirs to write.
    v_mine := array(select j.id from unnest(ids, leases) as v (id, lease_no)
                    join fairmill.job j on j.id = v.id and j.lease_no = v.lease_no and j.worker is not distinct from worker_id
                    order by j.id for update of j);
  end if;
  if verdicts && array['retry', 'snooze', 'release'] then
    v_verdicts := fairmill.heed_cancel_v1(ids, verdicts);
    if jsonb_path_exists(details, '$[*].delivery') then
      perform fairmill.note_sends_v1(worker_id, ids, leases, v_verdicts, details);
    end if;
    select w.changed, w.released, w.freed into v_waiting, v_released, v_given_up from fairmill.settle_waiting_v1(worker_id, ids, leases, v_verdicts, details) w;
  end if;

  if v_verdicts && array['done', 'dead', 'cancelled'] then
    v_all_end := cardinality(v_verdicts) = cardinality(ids) and v_verdicts <@ array['done', 'dead', 'cancelled'];
    v_verdict := case when v_all_end and details is null and v_verdicts <@ v_verdicts[1:1] then v_verdicts[1] end;
    with ended as (
      delete from fairmill.job j
      where j.id = any (ids) and j.worker is not distinct from worker_id
        and j.lease_no = leases[width_bucket(j.id, (select ids))]
        and (v_all_end or v_verdicts[width_bucket(j.id, (select ids))] in ('done', 'dead', 'cancelled'))
      returning j.id, j.lease_no, j.priority, j.attempt, j.crashes, j.max_attempts, j.queue, j.tenant, j.kind, j.key, j.limit_key, j.slot, j.throttled, j.hold, j.outbox, j.batch,
        j.worker, j.created_at, j.run_at, j.expire_at, j.started_at, j.payload, j.progress, j.failures, j.rerun_of,
        case when v_verdict is null then width_bucket(j.id, (select ids)) end as n),
    moved as (
      insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, key, limit_key,
        throttled, hold, outbox, batch, worker, created_at, run_at, expire_at, started_at, ended_at, payload, progress, failures, result, error, rerun_of)
      select e.id, e.lease_no, e.priority, e.attempt, e.crashes, e.max_attempts, coalesce(v_verdict, v_verdicts[e.n]), e.queue, e.tenant, e.kind, e.key, e.limit_key,
        e.throttled, e.hold, e.outbox, e.batch, e.worker, e.created_at, e.run_at, e.expire_at, e.started_at, v_at, e.payload, e.progress,
        case when v_verdicts[e.n] <> 'done' and details -> (e.n - 1) ? 'error' then fairmill.add_attempt_v1(e.failures, fairmill.failure_v1(
          e.attempt, e.lease_no, e.worker, e.started_at, v_at, details -> (e.n - 1) ->> 'outcome', details -> (e.n - 1) -> 'error')) else e.failures end,
        details -> (e.n - 1) -> 'result', case when v_verdicts[e.n] <> 'done' then details -> (e.n - 1) -> 'error' end, e.rerun_of
      from ended e)
    select count(*), array_agg(e.limit_key) filter (where e.slot is not null),
           array_agg(e.hold) filter (where e.hold is not null), array_agg(coalesce(v_verdict, v_verdicts[e.n])) filter (where e.hold is not null),
           array_agg(e.outbox) filter (where e.outbox is not null), array_agg(coalesce(v_verdict, v_verdicts[e.n])) filter (where e.outbox is not null),
           jsonb_agg(details -> (e.n - 1)) filter (where e.outbox is not null),
           jsonb_agg(jsonb_build_array(e.batch, coalesce(v_verdict, v_verdicts[e.n]), e.created_at)) filter (where e.batch is not null)
      into v_ended, v_freed, v_holds, v_states, v_messages, v_ends, v_said, v_members from ended e;
    if v_holds is not null then
      perform fairmill.end_holds_v1(v_holds, v_states);
    end if;
    if v_messages is not null then
      perform fairmill.end_sends_v1(v_messages, v_ends, v_said);
    end if;
  end if;

  if cardinality(v_mine) > 0 then
    v_made := fairmill.apply_effects_v1(v_mine, ids, details);
  end if;
  if v_members is not null then
    perform fairmill.end_members_v1(v_members);
  end if;
  v_freed := v_freed || v_given_up;
  if v_freed is not null then
    select jsonb_agg(jsonb_build_array(a.queue, a.priority, a.tenant, a.id)) into admitted from fairmill.admit_freed_v1(v_freed) a;
    if admitted is not null then
      perform fairmill.wake_v1(array(select distinct a ->> 0 from jsonb_array_elements(admitted) a));
    end if;
  end if;
  if v_made is not null then
    admitted := coalesce(admitted, '[]') || v_made;
  end if;
  if v_released is not null then
    perform fairmill.rescan_v1(v_released);
  end if;

  accepted := v_waiting + v_ended;
  refused := '{}';
  if accepted < cardinality(ids) then
    -- Some fence did not hold, or this call repeats an earlier one: look at each of them.
    select coalesce(array_agg(v.id), '{}') into refused from unnest(ids, leases, verdicts) as v (id, lease_no, verdict)
    where not fairmill.was_settled_v1(worker_id, v.id, v.lease_no, v.verdict);
    accepted := cardinality(ids) - cardinality(refused);
  end if;
end
$$;
