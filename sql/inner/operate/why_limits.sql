-- The caps and rates of a job's tenant, queue and kind, as why_v1 reports them. Settings without a cap or rate are left
-- out. Part of why_v1.
--   job  its row;  at: the time that is asked about
-- Result: first the caps, with ten of the jobs that hold them, then the rates, with the time at which they let the
-- next one start.
create or replace function fairmill.why_limits(job fairmill.job, at timestamptz)
returns table (check_name text, passed boolean, reason text, detail jsonb)
language plpgsql stable
set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_settings fairmill.limit_in_force[];
  v_setting  fairmill.limit_in_force;
  v_meter    fairmill.meter;
  v_room     record;
  v_count    bigint;
  v_ids      bigint[];
  v_iso      constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
begin
  v_settings := array(select l from fairmill.limits_of(job) l);

  foreach v_setting in array v_settings loop
    continue when v_setting.max_running is null;
    select * into v_meter from fairmill.meter m
    where m.use = 'start' and m.scope = v_setting.scope and m.name = v_setting.name;
    select count(*), (array_agg(h.id))[:10] into v_count, v_ids from fairmill.job h
    where h.id = any (v_meter.running_ids) and h.state = 'running';
    return query select v_setting.scope || ' cap', v_count < v_setting.max_running,
      'The ' || v_setting.scope || ' "' || v_setting.name || '" may run '
        || case when v_setting.max_running = 0 then 'nothing: its cap is 0'
          else v_setting.max_running || ' at once, and '
            || case v_count when 0 then 'none runs' when 1 then '1 runs' else v_count || ' run' end end
        || case when v_count >= v_setting.max_running and v_count > 0
          then case when v_count = 1 then ': job ' else ': jobs ' end || array_to_string(v_ids, ', ')
            || case when v_count > cardinality(v_ids)
              then ' and ' || v_count - cardinality(v_ids) || ' more' else '' end
          else '' end || '.',
      jsonb_build_object('scope', v_setting.scope, 'name', v_setting.name, 'limit', v_setting.max_running,
        'running', v_count, 'held_by', (
          select coalesce(jsonb_agg(
            jsonb_build_object('id', j.id::text, 'worker', j.worker, 'started_at', j.started_at)), '[]')
          from fairmill.job j
          where j.id = any (v_ids)));
  end loop;

  foreach v_setting in array v_settings loop
    continue when v_setting.rate_at is distinct from 'start';
    select * into v_meter from fairmill.meter m
    where m.use = 'start' and m.scope = v_setting.scope and m.name = v_setting.name;
    select * into v_room from fairmill.rate_room(
      v_meter.spent_at, v_meter.spent, v_setting.rate_limit, v_setting.rate_per_ms, v_setting.rate_how, at);
    return query select 'rate', v_room.room > 0,
      'The ' || v_setting.scope || ' "' || v_setting.name || '" may start '
        || fairmill.rate_words(v_setting.rate_limit, v_setting.rate_per_ms)
        || case when v_room.room > 0 then ', and has room.'
          else '; the next one at ' || to_char(v_room.open_at, v_iso) || '.' end,
      jsonb_build_object('scope', v_setting.scope, 'name', v_setting.name, 'limit', v_setting.rate_limit,
        'per_ms', v_setting.rate_per_ms, 'how', v_setting.rate_how, 'open_at', v_room.open_at);
  end loop;
end
$$;
