-- The workers that can run a waiting job, and when it is its turn, as why_v1 reports it. Part of why_v1.
--   at  the time that is asked about
-- Result: worker, how many living workers serve its queue and kind and how many jobs they run; turn, which jobs go
-- before it.
create or replace function fairmill.why_turn(job_id bigint, at timestamptz)
returns table (check_name text, passed boolean, reason text, detail jsonb)
language plpgsql stable
set timezone = 'UTC'
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_job      fairmill.job;
  v_workers  bigint;
  v_capacity bigint;
  v_running  bigint;
  v_last     fairmill.worker;   -- the worker that would serve it, if it lived
  v_ahead    bigint;
  v_beside   bigint;            -- other lanes of its priority
  v_above    bigint;            -- lanes of higher priorities
  v_next     boolean;
  v_iso      constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
begin
  select * into v_job from fairmill.job j where j.id = job_id;

  select count(*), sum(w.concurrency), sum(held.count) into v_workers, v_capacity, v_running
  from (
    select w.id, w.concurrency from fairmill.worker w
    where w.state = 'alive' and w.lease_until > at and v_job.queue = any (w.queues)
      and (w.kinds is null or v_job.kind = any (w.kinds))
    limit 1000) w
  cross join lateral (select count(*) as count from fairmill.claimed_jobs(w.id, 1000)) held;
  if v_workers = 0 then
    select * into v_last from fairmill.worker w
    where v_job.queue = any (w.queues) and (w.kinds is null or v_job.kind = any (w.kinds))
    order by w.lease_until desc limit 1;
  end if;
  return query select 'worker', v_workers > 0,
    case when v_workers > 0
        then v_workers || case when v_workers = 1 then ' living worker serves' else ' living workers serve' end
          || ' its queue and kind, with a capacity of ' || v_capacity || '; ' || v_running
          || case when v_running = 1 then ' job runs there.' else ' jobs run there.' end
      when exists (
          select from fairmill.worker w
          where w.state = 'alive' and w.lease_until > at and v_job.queue = any (w.queues))
        then 'No living worker of the queue "' || v_job.queue || '" handles the kind "' || v_job.kind || '".'
      when exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > at)
        then 'No living worker serves the queue "' || v_job.queue || '".'
      else 'No worker is alive.' end
    || case when v_last.id is null then ''
      when v_last.state = 'stopped' then ' The last one that did, ' || v_last.id || ', was stopped.'
      else ' The lease of the last one that did, ' || v_last.id || ', was over at '
        || to_char(v_last.lease_until, v_iso) || '.' end,
    jsonb_build_object('queue', v_job.queue, 'kind', v_job.kind, 'workers', v_workers,
      'capacity', coalesce(v_capacity, 0), 'running', coalesce(v_running, 0), 'last_worker', v_last.id);

  if v_job.state = 'scheduled' and v_job.run_at <= at then
    return query select 'turn', false,
      'It fell due at ' || to_char(v_job.run_at, v_iso)
        || ': the next upkeep of any worker moves it on, within seconds.',
      jsonb_build_object('run_at', v_job.run_at);
  end if;
  if v_job.state <> 'ready' then
    return;
  end if;
  -- The first of the lane, in order. The tenant is said as a range, so that the order needs it and only job_lane can
  -- serve.
  select count(*) filter (where a.position < coalesce(v_job.turn_no, v_job.id)) into v_ahead
  from (
    select coalesce(r.turn_no, r.id) as position from fairmill.job r
    where r.aside is null and r.state = 'ready'
      and fairmill.level_v1(r.queue, r.priority) = fairmill.level_v1(v_job.queue, v_job.priority)
      and r.queue = v_job.queue and r.tenant >= v_job.tenant and r.tenant <= v_job.tenant
    order by r.tenant, coalesce(r.turn_no, r.id) limit 1000) a;
  select count(*) filter (where l.priority = v_job.priority and l.tenant <> v_job.tenant),
    count(*) filter (where l.priority > v_job.priority)
    into v_beside, v_above
  from fairmill.lanes_v1(v_job.queue, lanes_max => 1000) l;
  -- One that may start despite a pause is asked for by its id.
  if exists (
    select from fairmill.pause_exception e where e.job_id = why_turn.job_id and e.lease_no = v_job.lease_no) then
    return query select 'turn', true, 'It goes before the others of its lane, which are paused.',
      jsonb_build_object('let_through', true);
    return;
  end if;
  v_next := v_ahead = 0 and v_beside = 0 and v_above = 0;
  return query select 'turn', v_next,
    case when v_next then 'It is the next: no job waits before it. A worker takes it as soon as it has free capacity.'
      else 'It is ready and waits for its turn: '
        || case v_ahead when 0 then 'it is the first of its tenant'
          else v_ahead || case when v_ahead >= 1000 then ' or more' else '' end
            || case when v_ahead = 1 then ' earlier job of its tenant goes' else ' earlier jobs of its tenant go' end
            || ' before it' end
        || case when v_beside = 0 then ''
          else ', ' || v_beside || case when v_beside + v_above >= 1000 then ' or more' else '' end
            || case when v_beside = 1 then ' other tenant waits' else ' other tenants wait' end
            || ' at its priority' end
        || case when v_above = 0 then ''
          else ', ' || v_above || case when v_above >= 1000 then ' or more' else '' end
            || case when v_above = 1 then ' lane waits' else ' lanes wait' end
            || ' at higher priorities' end || '.' end,
    jsonb_build_object('ahead', v_ahead, 'lanes_beside', v_beside, 'lanes_above', v_above, 'priority', v_job.priority);
end
$$;
