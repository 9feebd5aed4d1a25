-- Why does this job not run? Every gate on its way, in order, each passed or not. The first that is not passed is the reason.
-- Result, a row per gate: gate (state | scheduled | paused | key | queue cap | kind cap | tenant cap | rate | worker | turn), passed, reason (one sentence), detail (facts
-- for programs: names, moments, the jobs that hold a place). No row: there is no such job.
-- Reads only; takes no lock: what it says was true a moment ago.
-- Plan expected: probes of the indexes; whatever could be long is counted to a bound.
create or replace function fairmill.why_v1(job_id bigint)
returns table (gate text, passed boolean, reason text, detail jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_job   fairmill.job;
  v_ended record;
  v_rule  fairmill.key_rule;
  v_gate  fairmill.gate;
  v_meter fairmill.meter;
  v_room  record;
  v_count bigint;
  v_jobs  jsonb;
  v_lanes bigint;
  v_at    timestamptz := clock_timestamp();
begin
  select * into v_job from fairmill.job j where j.id = job_id;
  if not found then
    select h.state, h.ended_at, h.error into v_ended from fairmill.job_history h where h.id = job_id limit 1;
    if found then
      return query select 'state', false, 'The job has ended: it is ' || v_ended.state || '.',
        jsonb_build_object('state', v_ended.state, 'ended_at', v_ended.ended_at, 'error', v_ended.error);
    end if;
    return;
  end if;
  if v_job.state = 'running' then
    return query select 'state', true, 'It runs, on worker ' || v_job.worker || ', since ' || v_job.started_at::text || '.',
      jsonb_build_object('state', v_job.state, 'worker', v_job.worker, 'started_at', v_job.started_at);
    return;
  end if;
  return query select 'state', true, 'It waits: its state is ' || v_job.state || '.', jsonb_build_object('state', v_job.state);

  -- Its time.
  return query select 'scheduled', v_job.state <> 'scheduled' or v_job.run_at <= v_at,
    case when v_job.state <> 'scheduled' then 'Its time has come.'
         when v_job.run_at <= v_at then 'Its time has come; upkeep is about to move it on.'
         when v_job.put_back then 'The rate of its key put it back until ' || v_job.run_at::text || '.'
         when v_job.attempt > 0 then 'It failed and is tried again at ' || v_job.run_at::text || '.'
         else 'It is scheduled for ' || v_job.run_at::text || '.' end,
    jsonb_strip_nulls(jsonb_build_object('run_at', v_job.run_at, 'attempt', v_job.attempt, 'throttled', v_job.throttled));

  -- Its queue, its kind, its tenant are paused.
  for v_gate in
    select g.* from (values ('queue', v_job.queue), ('kind', v_job.kind), ('tenant', v_job.tenant)) as own (scope, name)
    join fairmill.gate g on g.scope = own.scope and g.name = own.name where g.paused_at is not null
  loop
    return query select 'paused', false, 'The ' || v_gate.scope || ' "' || v_gate.name || '" is paused since ' || v_gate.paused_at::text || '.',
      jsonb_build_object('scope', v_gate.scope, 'name', v_gate.name, 'paused_at', v_gate.paused_at);
  end loop;
  if not found then
    return query select 'paused', true, 'Neither its queue nor its kind nor its tenant is paused.', null::jsonb;
  end if;

  -- The place under its key.
  if v_job.limit_key is not null then
    select * into v_rule from fairmill.key_rule r where r.kind = v_job.kind;
    if v_rule.max_running is not null then
      select jsonb_agg(h.holder), count(*) into v_jobs, v_count
      from (select jsonb_build_object('id', j.id, 'state', j.state, 'worker', j.worker, 'started_at', j.started_at) as holder
            from fairmill.job j where j.limit_key = v_job.limit_key and j.slot is not null order by j.slot limit 10) h;
      return query select 'key', v_job.slot is not null or v_count < v_rule.max_running,
        case when v_job.slot is not null then 'It holds a place under its key.'
             when v_count >= v_rule.max_running then 'Its key ' || v_job.limit_key || ' allows ' || v_rule.max_running || ' at once, and job ' || (v_jobs -> 0 ->> 'id') || ' is '
               || (v_jobs -> 0 ->> 'state') || case when v_count > 1 then ', with ' || v_count - 1 || ' more' else '' end || '.'
             else 'Its key has a free place.' end,
        jsonb_build_object('key', v_job.limit_key, 'limit', v_rule.max_running, 'held_by', v_jobs,
          'ahead', (select count(*) from (select from fairmill.job b where v_job.state = 'blocked' and b.state = 'blocked' and b.limit_key = v_job.limit_key
                      and (b.priority > v_job.priority or b.priority = v_job.priority and b.id < v_job.id) limit 1000) x));
    end if;
    if v_rule.rate_at = 'start' then
      select * into v_meter from fairmill.meter m where m.use = 'start' and m.scope = 'key' and m.name = v_job.limit_key;
      select * into v_room from fairmill.rate_room_v1(v_meter.spent_at, v_meter.spent, v_rule.rate_limit, v_rule.rate_per_ms, v_rule.rate_how, v_at);
      return query select 'rate', v_room.room > 0 and (v_job.state <> 'scheduled' or v_job.run_at <= v_at),
        case when v_job.put_back and v_job.state = 'scheduled' and v_job.run_at > v_at then 'The rate of its key gives it ' || v_job.run_at::text || '.'
             when v_room.room > 0 then 'The rate of its key leaves room.' else 'The rate of its key is used up until ' || v_room.open_at::text || '.' end,
        jsonb_build_object('scope', 'key', 'name', v_job.limit_key, 'limit', v_rule.rate_limit, 'per_ms', v_rule.rate_per_ms, 'open_at', v_room.open_at, 'throttled', coalesce(v_job.throttled, 0));
    end if;
  end if;

  -- Caps and rates of its queue, its kind, its tenant.
  for v_gate in
    select g.* from (values (1, 'queue', v_job.queue), (2, 'kind', v_job.kind), (3, 'tenant', v_job.tenant)) as own (n, scope, name)
    join fairmill.gate g on g.scope = own.scope and g.name = own.name order by own.n
  loop
    if v_gate.max_running is not null then
      select jsonb_agg(h.holder) filter (where h.n <= 10), count(*) into v_jobs, v_count
      from (select row_number() over () as n, jsonb_build_object('id', r.id, 'worker', r.worker, 'started_at', r.started_at) as holder
            from (select j.id, j.worker, j.started_at from fairmill.job j where v_gate.scope = 'tenant' and j.state = 'running' and j.counted & 1 = 1 and j.tenant = v_gate.name
                  union all
                  select j.id, j.worker, j.started_at from fairmill.job j where v_gate.scope = 'queue' and j.state = 'running' and j.counted & 2 = 2 and j.queue = v_gate.name
                  union all
                  select j.id, j.worker, j.started_at from fairmill.job j where v_gate.scope = 'kind' and j.state = 'running' and j.counted & 4 = 4 and j.kind = v_gate.name) r) h;
      return query select v_gate.scope || ' cap', v_count < v_gate.max_running,
        'The ' || v_gate.scope || ' "' || v_gate.name || '" may run ' || v_gate.max_running || ' at once, and ' || v_count || case when v_count = 1 then ' runs.' else ' run.' end,
        jsonb_build_object('scope', v_gate.scope, 'name', v_gate.name, 'limit', v_gate.max_running, 'running', v_count, 'held_by', coalesce(v_jobs, '[]'));
    end if;
    if v_gate.rate_at = 'start' then
      select * into v_meter from fairmill.meter m where m.use = 'start' and m.scope = v_gate.scope and m.name = v_gate.name;
      select * into v_room from fairmill.rate_room_v1(v_meter.spent_at, v_meter.spent, v_gate.rate_limit, v_gate.rate_per_ms, v_gate.rate_how, v_at);
      return query select 'rate', v_room.room > 0,
        'The ' || v_gate.scope || ' "' || v_gate.name || '" may start ' || v_gate.rate_limit || ' in ' || v_gate.rate_per_ms || ' ms'
          || case when v_room.room > 0 then ', and has room.' else ': used up until ' || v_room.open_at::text || '.' end,
        jsonb_build_object('scope', v_gate.scope, 'name', v_gate.name, 'limit', v_gate.rate_limit, 'per_ms', v_gate.rate_per_ms, 'open_at', v_room.open_at);
    end if;
  end loop;

  -- Somebody who would run it.
  select count(*) into v_count from fairmill.worker w
  where w.state = 'alive' and w.lease_until > v_at and v_job.queue = any (w.queues) and (w.kinds is null or v_job.kind = any (w.kinds));
  return query select 'worker', v_count > 0,
    case when v_count > 0 then v_count || case when v_count = 1 then ' living worker serves' else ' living workers serve' end || ' its queue and kind.'
         when not exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > v_at) then 'No worker is alive.'
         when exists (select from fairmill.worker w where w.state = 'alive' and w.lease_until > v_at and v_job.queue = any (w.queues))
           then 'No living worker of the queue "' || v_job.queue || '" handles the kind "' || v_job.kind || '".'
         else 'No living worker serves the queue "' || v_job.queue || '".' end,
    jsonb_build_object('workers', v_count, 'queue', v_job.queue, 'kind', v_job.kind);

  -- Its turn.
  if v_job.state = 'ready' then
    select count(*) into v_count from (select from fairmill.job a where a.state = 'ready' and a.queue = v_job.queue and a.priority = v_job.priority
      and a.tenant = v_job.tenant and a.id < v_job.id limit 10000) ahead;
    select count(*) into v_lanes from (select from fairmill.lanes_v1(v_job.queue, lanes_max => 1000) l where l.priority >= v_job.priority) lanes;
    return query select 'turn', v_count = 0 and v_lanes <= 1,
      case when v_count = 0 and v_lanes <= 1 then 'It is the next: a worker takes it as soon as it has a free place.'
           else v_count || ' older ' || case when v_count = 1 then 'job' else 'jobs' end || ' of its tenant and priority wait before it; ' || v_lanes || case when v_lanes = 1 then ' lane' else ' lanes' end
             || ' of this or a higher priority are served in turn.' end,
      jsonb_build_object('ahead', v_count, 'lanes', v_lanes, 'priority', v_job.priority);
  end if;
end
$$;
