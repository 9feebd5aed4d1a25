-- Settles a group of running jobs in one transaction. Only the holder of the fence (worker and lease_no) is heard.
--   worker_id  who ran them;  ids, leases: the jobs and the lease_no each was claimed with; best sorted by id
--   verdicts   done | dead | cancelled: the job ends and moves to the history
--              retry   wait delay_ms, then again; the attempt is spent and its error kept
--              snooze  wait delay_ms, then again; the attempt is given back
--              release back to the queue at once; the attempt is given back
--              crashed the process that ran it died: back to the queue at once, counted and recorded as a crash; after
--                      crashes_max of them the job is dead (reason and crashes_max in its details: see return_crashed)
--   details    null, or an array beside ids: result | error, outcome, delay_ms, waits (of a snooze: the signals that
--              end it before), delivery (of a delivery job: outcome, answer, error: see end_sends), used (of named
--              limits: see read_used), captured (of its credits: see end_reservations), effects (jobs and messages:
--              see apply_effects), content (the file that has the result: {"storage", "key"}).
--              These are written if the fence holds and this very call settles the job. If they are refused, nothing is
--              settled, and error FM020 says whose
-- Result: how many were accepted, and the ids that were not: their lease was lost. Repeating a call is safe: what it
-- settled before counts as accepted. A job with a cancel request does not wait again: it ends as cancelled.
-- admitted: of the jobs that got a slot under a key because one of these gave it up the first of each lane, as [queue,
-- priority, tenant, id]; null: none. Their ids are old: a worker that keeps floors looks below them. A worker that
-- sleeps is woken; all others find them by their next scan. With effects, also the first new job of each lane.
-- Locks: 8 job, 9 step (those that are free), 10 message, with effects as apply_effects (against the order), then as
-- change_units, then as finish_transitions.
-- Effects come after the verdicts, so that a job may enqueue its successor under the same key, before batches are
-- counted, so that none ends too early, and before the meters, so that no other settle waits for one that waits for a
-- caller's transaction.
-- Plan expected: as end_jobs.
create or replace function fairmill.settle_v1(worker_id text, ids bigint[], leases bigint[], verdicts text[],
  details jsonb default null,
  out accepted integer, out refused bigint[], out admitted jsonb)
language plpgsql
as $$
#variable_conflict use_column
declare
  v_waiting  integer := 0;
  v_ended    integer := 0;
  v_given_up text[];
  v_released text[];
  v_freed    text[];
  v_members  jsonb;
  v_verdicts text[];
  v_mine     bigint[];   -- with effects: whose fence holds
  v_made     jsonb;
  v_used     jsonb;      -- what changes under named limits
  v_crash    record;
begin
  if worker_id is null then
    raise exception 'settle_v1 needs the worker that ran the jobs' using errcode = 'FM001';
  end if;
  if ids <> array(select i from unnest(ids) as i order by i) then
    select array_agg(u.id order by u.id), array_agg(u.lease_no order by u.id), array_agg(u.verdict order by u.id),
      case when details is not null then jsonb_agg(details -> (u.n - 1)::integer order by u.id) end
      into ids, leases, verdicts, details
    from unnest(ids, leases, verdicts) with ordinality as u (id, lease_no, verdict, n);
  end if;
  v_verdicts := verdicts;
  if details is not null and jsonb_path_exists(details, '$[*] ? (exists (@.effects) || exists (@.used)
    || exists (@.content))') then
    -- From here on no other session can take these jobs: their effects may be written.
    v_mine := array(select j.id from unnest(ids, leases) as v (id, lease_no)
                    join fairmill.job j on j.id = v.id and j.lease_no = v.lease_no and j.worker is not distinct
                      from worker_id
                    order by j.id for update of j);
    if jsonb_path_exists(details, '$[*].used') then
      v_used := fairmill.read_used(worker_id, ids, leases, details);
    end if;
  end if;
  if verdicts && array['retry', 'snooze', 'release'] then
    v_verdicts := fairmill.apply_cancel_requests(ids, verdicts);
    if jsonb_path_exists(details, '$[*].delivery') then
      perform fairmill.record_sends(worker_id, ids, leases, v_verdicts, details);
    end if;
    select w.changed, w.released, w.freed into v_waiting, v_released, v_given_up
      from fairmill.return_jobs(worker_id, ids, leases, v_verdicts, details) w;
  end if;

  if verdicts && array['crashed'] then
    select c.* into v_crash from fairmill.return_crashed(
      array(select j.id from unnest(ids, leases, verdicts) as v (id, lease_no, verdict)
            join fairmill.job j on j.id = v.id and j.lease_no = v.lease_no and j.worker is not distinct from worker_id
            where v.verdict = 'crashed' order by j.id for update of j),
      (select coalesce(max((d ->> 'crashes_max')::integer), 3) from jsonb_array_elements(details) d),
      (select jsonb_object_agg(u.id, coalesce(details -> (u.n - 1)::integer ->> 'reason', 'no reason given'))
       from unnest(ids, verdicts) with ordinality as u (id, verdict, n) where u.verdict = 'crashed')) c;
  end if;

  if v_verdicts && array['done', 'dead', 'cancelled'] then
    select e.ended, e.freed, e.members into v_ended, v_freed, v_members
      from fairmill.end_jobs(ids, v_verdicts, details, leases, worker_id) e;
  end if;

  if verdicts && array['crashed'] then
    v_waiting := v_waiting + v_crash.recovered;
    v_released := v_released || v_crash.queues;
    select v_ended + e.ended, v_given_up || e.freed,
           nullif(coalesce(v_members, '[]') || coalesce(e.members, '[]'), '[]')
      into v_ended, v_given_up, v_members
    from fairmill.end_jobs(v_crash.ended_ids, v_crash.states, v_crash.details, crashed => true) e;
  end if;
  if cardinality(v_mine) > 0 then
    v_made := fairmill.apply_effects(v_mine, ids, details);
    if jsonb_path_exists(details, '$[*].content') then
      insert into fairmill.content (storage, key, job_id)
      select c.content ->> 'storage', c.content ->> 'key', u.id from unnest(ids) with ordinality as u (id, n)
      cross join lateral (select details -> (u.n::integer - 1) -> 'content' as content) c
      where u.id = any (v_mine) and jsonb_typeof(c.content) = 'object';
    end if;
  end if;
  if v_members is not null then
    perform fairmill.advance_batches(c.batches, c.died) from fairmill.count_members(v_members) c;
  end if;
  if v_used is not null then
    perform fairmill.change_units(v_used);
  end if;
  v_freed := v_freed || v_given_up;
  if v_freed is not null then
    select jsonb_agg(jsonb_build_array(a.queue, a.priority, a.tenant, a.id)) into admitted
      from fairmill.admit_freed(v_freed) a;
    if admitted is not null then
      perform fairmill.wake_v1(array(select distinct a ->> 0 from jsonb_array_elements(admitted) a));
    end if;
  end if;
  if v_made is not null then
    admitted := coalesce(admitted, '[]') || v_made;
  end if;
  if v_released is not null then
    perform fairmill.raise_rescan_marks(v_released);
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
