-- The caps and rates of a tenant, a queue and a kind, as why_v1 tells them. Gates without a limit are left out. Part of why_v1.
--   at  the moment that is asked about
-- Result: first the caps, with ten of the jobs that hold them, then the rates, with the moment at which they let the next one start.
create or replace function fairmill.why_limits(tenant text, queue text, kind text, at timestamptz)
returns table (gate text, passed boolean, reason text, detail jsonb)
language plpgsql stable
set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_gates fairmill.gate[];
  v_gate  fairmill.gate;
  v_meter fairmill.meter;
  v_room  record;
  v_count bigint;
  v_ids   bigint[];
  v_iso   constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
begin
  v_gates := array(
    select g.gate from (values (1, 'tenant', why_limits.tenant), (2, 'queue', why_limits.queue), (3, 'kind', why_limits.kind)) as own (n, scope, name)
    cross join lateral (select x as gate from fairmill.gate x where x.scope = own.scope and x.name = own.name offset 0) g order by own.n);

  foreach v_gate in array v_gates loop
    continue when v_gate.max_running is null;
    select * into v_meter from fairmill.meter m where m.use = 'start' and m.scope = v_gate.scope and m.name = v_gate.name;
    select count(*), (array_agg(h.id))[:10] into v_count, v_ids from fairmill.job h where h.id = any (v_meter.held) and h.state = 'running';
    return query select v_gate.scope || ' cap', v_count < v_gate.max_running,
      'The ' || v_gate.scope || ' "' || v_gate.name || '" may run '
        || case when v_gate.max_running = 0 then 'nothing: its cap is 0'
                else v_gate.max_running || ' at once, and ' || case v_count when 0 then 'none runs' when 1 then '1 runs' else v_count || ' run' end end
        || case when v_count >= v_gate.max_running and v_count > 0 then
             case when v_count = 1 then ': job ' else ': jobs ' end || array_to_string(v_ids, ', ')
             || case when v_count > cardinality(v_ids) then ' and ' || v_count - cardinality(v_ids) || ' more' else '' end else '' end || '.',
      jsonb_build_object('scope', v_gate.scope, 'name', v_gate.name, 'limit', v_gate.max_running, 'running', v_count, 'held_by', (
        select coalesce(jsonb_agg(jsonb_build_object('id', j.id::text, 'worker', j.worker, 'started_at', j.started_at)), '[]') from fairmill.job j where j.id = any (v_ids)));
  end loop;

  foreach v_gate in array v_gates loop
    continue when v_gate.rate_at is distinct from 'start';
    select * into v_meter from fairmill.meter m where m.use = 'start' and m.scope = v_gate.scope and m.name = v_gate.name;
    select * into v_room from fairmill.rate_room(v_meter.spent_at, v_meter.spent, v_gate.rate_limit, v_gate.rate_per_ms, v_gate.rate_how, at);
    return query select 'rate', v_room.room > 0,
      'The ' || v_gate.scope || ' "' || v_gate.name || '" may start ' || fairmill.rate_words(v_gate.rate_limit, v_gate.rate_per_ms)
        || case when v_room.room > 0 then ', and has room.' else '; the next one at ' || to_char(v_room.open_at, v_iso) || '.' end,
      jsonb_build_object('scope', v_gate.scope, 'name', v_gate.name, 'limit', v_gate.rate_limit, 'per_ms', v_gate.rate_per_ms, 'how', v_gate.rate_how,
        'open_at', v_room.open_at);
  end loop;
end
$$;
