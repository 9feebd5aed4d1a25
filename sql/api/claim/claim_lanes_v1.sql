-- Claims jobs lane by lane: the hot statement of every worker. The arrays describe the lanes to probe, in order of
-- preference:
--   queues, priorities, tenants  the lane
--   floors                       only jobs whose position in the lane (coalesce(turn_no, id)) is above this one: a hint
--                                that skips over entries known to be gone
--   quanta                       at most this many jobs of this lane
--   kinds                        only these kinds; null: any
--   jobs_max                     stop when this many are claimed
--   durable                      false: the claim's commit does not wait for the disk. A claim that a crash undoes
--                                leaves the job ready, and the fence keeps the old holder out. Set for the whole
--                                transaction: only for callers that do nothing else in it.
--   list_no                      the number of the list in which the jobs are noted (record_claim); null: the database
--                                finds one
-- Each claimed job gets a new lease_no, its attempt counted, and this worker's name: from now on only this fence may
-- write to it.
-- Result: the claimed jobs, in no particular order. Where limits held something back, one more row, in which only
-- held_back is given: it says what (see claim_limited, which makes the claim wherever limits are).
-- The update changes no column that an index knows of, but for keys that are unique until the start: see the indexes of
-- job in the baseline.
-- Locks: 8 job (those that are free), 21 claim list; where limits are, as claim_limited.
-- Plan expected: one range of job_lane per lane, past what runs already, then the rows by their ctid (Tid Scan). The
-- tenant is said as a range, not as an equality, so that the order by needs it and no other index can serve: statistics
-- cannot talk the planner out of it. The end of the range is a plain comparison: a row comparison there does not stop
-- the scan before PostgreSQL 18, and a lane with fewer jobs than its quantum would be a walk along the rest of the
-- queue.
create or replace function fairmill.claim_lanes_v1(
  worker_id text, queues text[], priorities smallint[], tenants text[], floors bigint[], quanta integer[], kinds text[],
    jobs_max integer,
  durable boolean default true, list_no bigint default null)
returns setof fairmill.claimed_job
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_ctids tid[];
  v_ids    bigint[];
begin
  -- What a lost worker claimed would count as a crash when it is recovered.
  if not exists (select from fairmill.worker w where w.id = worker_id and w.state = 'alive') then
    raise exception 'worker "%" is not alive', worker_id using errcode = 'FM002',
      hint = 'Register it with register_v1 and send heartbeats; a worker that was declared lost needs a new name.';
  end if;
  if exists (select from fairmill.limit_setting g where g.paused_at is not null or g.max_running is not null
    or g.rate_at = 'start')
      or exists (select from fairmill.key_limit r where r.rate_at = 'start')
      or exists (select from fairmill.named_limit)
      or exists (select from fairmill.provider p where p.closed_until is not null or p.crowded_until is not null)
      or exists (select from fairmill.budget b where b.closed_until > now()) then
    return query select * from fairmill.claim_limited(worker_id, queues, priorities, tenants, floors, quanta, kinds,
      jobs_max, durable, list_no);
    return;
  end if;
  if not durable then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  select array_agg(ready.ctid), array_agg(ready.id) into v_ctids, v_ids
  from (
    select ready.ctid, ready.id
    from unnest(queues, priorities, tenants, floors, quanta) as lane (queue, priority, tenant, floor, quantum)
    cross join lateral (
      select r.ctid, r.id from fairmill.job r
      where r.aside is null and r.state = 'ready'
        and fairmill.level_v1(r.queue, r.priority) = fairmill.level_v1(lane.queue, lane.priority)
          and r.queue = lane.queue
        and (r.tenant, coalesce(r.turn_no, r.id)) > (lane.tenant, lane.floor) and r.tenant <= lane.tenant
        and (kinds is null or r.kind = any (kinds))
        and (r.expire_at is null or r.expire_at > now())
      order by r.tenant, coalesce(r.turn_no, r.id)
      limit lane.quantum
      for update skip locked) ready
    limit jobs_max) ready;
  if v_ctids is null then
    return;
  end if;
  perform fairmill.record_claim(worker_id, list_no, v_ids);
  return query
    update fairmill.job j
    set state = 'running', worker = worker_id, lease_no = fairmill.next_lease(j.lease_no), attempt = j.attempt + 1,
      started_at = clock_timestamp(), rate_limited = null,
        unique_key = case when j.unique_until = 'started' then null else j.unique_key end,
          unique_until = nullif(j.unique_until, 'started')
    -- An array of ctids, not a join: measured at 7.1 against 8.4 microseconds a job.
    where j.ctid = any (v_ctids)
    returning j.id, j.lease_no, j.priority, j.tenant, j.kind, j.key, j.attempt, j.crashes, j.max_attempts, j.payload,
      j.batch,
      j.timeout_ms, j.trace, null::jsonb;
end
$$;
