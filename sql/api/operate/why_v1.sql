-- Why does this job not run? Every check on its way, in order, each passed or not. The first that is not passed is the
-- reason.
-- Result, a row per check: check_name, passed, reason (one sentence), detail (facts for programs: names, times, the
-- jobs that hold a slot).
--   state      running jobs have this row alone, ended ones this and credits; it is not passed by a job that ended
--              without success, or whose worker is gone
--   expired    only where the job has a time to live
--   released   only where workers gave it back again and again: how often, when and why the last time
--   credits    only where it reserves or reserved units of an account: what it reserves, or whether a retry would be
--              refused
--   scheduled  its time, and why it waits for it: delayed, failed before, rate-limited by its key, asleep or waiting
--              for a signal
--   paused     a row for each of its queue, kind and tenant that is paused; passed where run_now_v1 lets it start
--              all the same
--   limit      a row for each named limit that it uses: see why_uses
--   budget     only where its tenant has one with a hard limit: see why_budgets
--   tenant cap, queue cap, kind cap, rate, key, worker, turn: see why_limits, why_key and why_turn
-- No row: there is no such job. What it reports may have changed since: it waits for no other session.
-- Locks: none.
-- Plan expected: probes of the indexes; what could be long is counted to a bound.
create or replace function fairmill.why_v1(job_id bigint)
returns table (check_name text, passed boolean, reason text, detail jsonb)
language plpgsql stable
set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_job     fairmill.job;
  v_rule    fairmill.key_limit;
  v_setting fairmill.limit_in_force;
  v_step    fairmill.step;
  v_at      timestamptz := clock_timestamp();
  v_iso     constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
  v_alive   boolean;
  v_wish    fairmill.pause_exception;
begin
  select * into v_job from fairmill.job j where j.id = job_id;
  if not found then
    return query
      select 'state', h.state = 'done',
        case h.state when 'done' then 'It has run: it is done since ' || to_char(h.ended_at, v_iso) || '.'
          else 'It has ended: it is ' || h.state || ' since ' || to_char(h.ended_at, v_iso)
            || coalesce(' (' || (h.error ->> 'message') || ')', '') || '.' end,
        jsonb_strip_nulls(jsonb_build_object('state', h.state, 'ended_at', h.ended_at, 'code', h.error -> 'code',
          'message', h.error -> 'message'))
      from fairmill.job_history h where h.id = job_id limit 1;
    return query
      select w.*
      from (
        select h.reservation, h.error from fairmill.job_history h where h.id = job_id and h.state <> 'done' limit 1) h
      cross join lateral fairmill.why_credits(h.reservation, h.error, false) w;
    return;
  end if;

  if v_job.state = 'running' then
    v_alive := exists (
      select from fairmill.worker w where w.id = v_job.worker and w.state = 'alive' and w.lease_until > v_at);
    return query select 'state', v_alive,
      case when not v_alive
          then 'The worker ' || v_job.worker || ', which took it at ' || to_char(v_job.started_at, v_iso)
            || ', has lost its lease: the next upkeep of any worker puts the job back.'
        when v_job.cancel_requested_at is not null
          then 'It runs on worker ' || v_job.worker || ' and was asked to stop at '
            || to_char(v_job.cancel_requested_at, v_iso) || '.'
        else 'It runs on worker ' || v_job.worker || ', which took it at ' || to_char(v_job.started_at, v_iso)
          || '.' end,
      jsonb_strip_nulls(jsonb_build_object('state', v_job.state, 'worker', v_job.worker,
        'started_at', v_job.started_at, 'attempt', v_job.attempt, 'cancel_requested_at', v_job.cancel_requested_at));
    return;
  end if;
  return query select 'state', true, 'It waits: it is ' || v_job.state || '.', jsonb_build_object('state', v_job.state);

  if v_job.expire_at is not null then
    return query select 'expired', v_job.expire_at > v_at,
      case when v_job.expire_at > v_at then 'It may wait until ' || to_char(v_job.expire_at, v_iso) || '.'
        else 'Its time to live was over at ' || to_char(v_job.expire_at, v_iso)
          || ': it is not started any more, and the next upkeep ends it as dead.' end,
      jsonb_build_object('expire_at', v_job.expire_at);
  end if;

  -- As return_jobs brakes it.
  if (v_job.released -> 'times')::integer > 3 then
    return query select 'released', false,
      'Workers took it and gave it back ' || (v_job.released ->> 'times') || ' times in a row, the last time at '
        || to_char((v_job.released ->> 'at')::timestamptz, v_iso)
        || coalesce(' (' || (v_job.released ->> 'reason') || ')', '') || ': it waits longer each time.',
      v_job.released || jsonb_strip_nulls(jsonb_build_object('run_at', v_job.run_at));
  end if;
  if v_job.reservation is not null then
    return query select * from fairmill.why_credits(v_job.reservation, null, true);
  end if;

  select * into v_rule from fairmill.key_limit r where r.kind = v_job.kind;
  if v_job.state = 'scheduled' then
    select s.* into v_step from fairmill.step s
    where s.job_id = why_v1.job_id and s.finished_at is null and s.lease_no = v_job.lease_no and s.position is not null
    order by s.wake_at limit 1;
  end if;
  return query select 'scheduled', v_job.state <> 'scheduled' or v_job.run_at <= v_at,
    case when v_job.state <> 'scheduled' or v_job.run_at <= v_at then 'Its time has come.'
      when v_job.rate_limited
        then 'The rate of its key'
          || coalesce(' (' || fairmill.rate_words(v_rule.rate_limit, v_rule.rate_per_ms) || ')', '')
          || ' delays it until ' || to_char(v_job.run_at, v_iso) || '.'
      when v_job.waits_for is not null
        then 'The limit "' || (v_job.waits_for::jsonb ->> 0) || '" delays it until ' || to_char(v_job.run_at, v_iso)
          || '.'
      when v_step.kind = 'sleep'
        then 'It sleeps (' || v_step.name || ') until ' || to_char(v_step.wake_at, v_iso) || '.'
      when v_step.kind = 'wait'
        then 'It waits for the signal "' || v_step.name || '"'
          || coalesce(', until ' || to_char(v_step.wake_at, v_iso), '') || '.'
      when v_job.attempt > 0 and jsonb_array_length(coalesce(v_job.failures, '[]')) > 0
        then 'Attempt ' || v_job.attempt || ' of ' || v_job.max_attempts || ' failed'
          || coalesce(' (' || (v_job.failures #>> '{-1,error,message}') || ')', '')
          || '; the next one is at ' || to_char(v_job.run_at, v_iso) || '.'
      else 'It is scheduled for ' || to_char(v_job.run_at, v_iso) || '.' end,
    jsonb_strip_nulls(jsonb_build_object('run_at', v_job.run_at, 'attempt', v_job.attempt,
      'rate_limited_times', v_job.rate_limited_times, 'rate_limited', v_job.rate_limited, 'step', v_step.name));

  select * into v_wish from fairmill.pause_exception e where e.job_id = why_v1.job_id and e.lease_no = v_job.lease_no;
  for v_setting in select l.* from fairmill.limits_of(v_job) l where l.paused_at is not null loop
    return query select 'paused', v_wish.job_id is not null,
      'The ' || v_setting.scope || ' "' || v_setting.name || '" is paused '
        || case when v_setting.paused_until is null then 'since ' || to_char(v_setting.paused_at, v_iso)
          else 'until ' || to_char(v_setting.paused_until, v_iso) end
        || coalesce(', but this job may start all the same, once: asked for at '
          || to_char(v_wish.requested_at, v_iso), '') || '.',
      jsonb_build_object('scope', v_setting.scope, 'name', v_setting.name, 'paused_at', v_setting.paused_at,
        'paused_until', v_setting.paused_until, 'let_through_at', v_wish.requested_at);
  end loop;
  if not found then
    return query select 'paused', true, 'Neither its tenant nor its queue nor its kind is paused.', null::jsonb;
  end if;

  return query select * from fairmill.why_limits(v_job, v_at);
  if v_job.uses is not null then
    return query select * from fairmill.why_uses(v_job.uses, v_at);
  end if;
  return query select * from fairmill.why_budgets(v_job.tenant, v_job.kind, v_at);
  return query select * from fairmill.why_providers(v_job.kind, v_at);
  if v_job.limit_key is not null then
    return query select * from fairmill.why_key(job_id, v_at);
  end if;
  return query select * from fairmill.why_turn(job_id, v_at);
end
$$;
