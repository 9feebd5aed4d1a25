-- The rate and the slots of a waiting job's key, as why_v1 reports them. Part of why_v1.
--   at  the time that is asked about
-- Result: rate, if there is one at start; key, if there are slots or the job is blocked: the jobs that hold them, and
-- how many wait before it.
create or replace function fairmill.why_key(job_id bigint, at timestamptz)
returns table (check_name text, passed boolean, reason text, detail jsonb)
language plpgsql stable
set timezone = 'UTC'
set enable_sort = off
as $$
#variable_conflict use_column
declare
  v_job    fairmill.job;
  v_rule   fairmill.key_limit;
  v_meter  fairmill.meter;
  v_room   record;
  v_name   text;         -- as people read it
  v_last   timestamptz;  -- the latest start time that the rate has given
  v_held   integer;
  v_first  record;       -- the job that holds the first slot
  v_ahead  bigint := 0;
  v_free   boolean;
  v_iso    constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
begin
  select * into v_job from fairmill.job j where j.id = job_id;
  select * into v_rule from fairmill.key_limit r where r.kind = v_job.kind;
  v_name := (
    select string_agg(part.name, ' / ' order by part.n)
    from jsonb_array_elements_text(v_job.limit_key::jsonb) with ordinality as part (name, n));

  if v_rule.rate_at = 'start' then
    select * into v_meter from fairmill.meter m where m.use = 'start' and m.scope = 'key' and m.name = v_job.limit_key;
    select * into v_room from fairmill.rate_room(
      v_meter.spent_at, v_meter.spent, v_rule.rate_limit, v_rule.rate_per_ms, v_rule.rate_how, at);
    select j.run_at into v_last from fairmill.job j
    where j.limit_key = v_job.limit_key and j.aside = 'scheduled' and j.rate_limited
    order by j.run_at desc limit 1;
    return query select 'rate',
      v_room.room > 0 and (v_job.rate_limited is true and v_job.run_at <= at or v_last is null),
      'The key "' || v_name || '" may start ' || fairmill.rate_words(v_rule.rate_limit, v_rule.rate_per_ms)
        || case when v_job.rate_limited and v_job.run_at > at
            then ', and this one at ' || to_char(v_job.run_at, v_iso) || '.'
          when v_last is not null and v_job.rate_limited is not true
            then '; others wait for theirs until ' || to_char(v_last, v_iso) || ', and this one queues up behind them.'
          when v_room.room <= 0 then '; the next one at ' || to_char(v_room.open_at, v_iso) || '.'
          else ', and has room.' end,
      jsonb_build_object('scope', 'key', 'name', v_name, 'limit', v_rule.rate_limit, 'per_ms', v_rule.rate_per_ms,
        'how', v_rule.rate_how,
        'open_at', case when v_job.rate_limited and v_job.run_at > at then v_job.run_at
          else greatest(v_room.open_at, case when v_job.rate_limited is not true then v_last end) end,
        'rate_limited_times', coalesce(v_job.rate_limited_times, 0));
  end if;

  if v_rule.max_running is null and v_job.state <> 'blocked' then
    return;
  end if;
  select count(*) into v_held
  from (select from fairmill.job h where h.limit_key = v_job.limit_key and h.slot is not null limit 10000) held;
  select h.id, h.state, h.worker into v_first from fairmill.job h
  where h.limit_key = v_job.limit_key and h.slot is not null
  order by h.slot limit 1;
  v_free := v_held < coalesce(v_rule.max_running, v_held + 1);
  if v_job.state = 'blocked' then
    -- The first in line, in order: where it is not among them, all of them are before it.
    select count(*) filter (where b.priority > v_job.priority or b.id < v_job.id) into v_ahead
    from (
      select w.id, w.priority from fairmill.job w
      where w.aside = 'blocked' and w.limit_key = v_job.limit_key and w.priority >= v_job.priority
      order by w.priority desc, w.id limit 1000) b;
  end if;
  return query select 'key',
    case when v_job.state = 'blocked' then false
      when v_job.state = 'scheduled' then v_job.slot is not null or v_free else true end,
    case when v_job.slot is not null then 'It holds a slot under the key "' || v_name || '".'
      when v_job.state = 'ready' then 'It needs no slot under its key: it was let through when there was no limit.'
      when v_rule.max_running is null
        then 'Its key "' || v_name || '" has no limit any more: the next upkeep lets it through.'
      when v_free and v_job.state = 'blocked'
        then 'The key "' || v_name || '" has a free slot: the next upkeep gives it to the first of those that wait.'
      when v_free then 'The key "' || v_name || '" has a free slot.'
      else 'The key "' || v_name || '" may have ' || v_rule.max_running || ' at once, and job ' || v_first.id
        || case v_first.state when 'running' then ' runs on worker ' || v_first.worker else ' is ' || v_first.state end
        || case when v_held > 1 then ', with ' || v_held - 1 || ' more' else '' end
        || case when v_job.state <> 'blocked' then ''
          when v_ahead = 0 then '; it is the next in line'
          else '; ' || v_ahead || case when v_ahead >= 1000 then ' or more' else '' end
            || case when v_ahead = 1 then ' waits' else ' wait' end || ' before it' end || '.' end,
    jsonb_build_object('scope', 'key', 'name', v_name, 'limit', v_rule.max_running, 'held', v_held, 'ahead', v_ahead,
      'held_by', (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', h.id::text, 'state', h.state, 'worker', h.worker, 'started_at', h.started_at)), '[]')
        from (
          select * from fairmill.job j
          where j.limit_key = v_job.limit_key and j.slot is not null
          order by j.slot limit 10) h));
end
$$;
