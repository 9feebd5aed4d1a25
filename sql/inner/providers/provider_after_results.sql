-- What a provider's state is after what a worker reports of its calls. Part of sync_provider_v1, under its lock.
--   facts  as sync_provider_v1 takes them
-- Result: the row as it is to be written; events of changes are on record.
--  1. Count results in the breaker's window, which has two halves: the older one is dropped when the newer one is full.
--  2. A limit that the provider named closes it for every worker.
--  3. The end of the probe, if this worker makes it, closes the breaker or opens it again.
--  4. Too many failures trip a closed breaker, once.
create or replace function fairmill.provider_after_results(p fairmill.provider, worker text, facts jsonb,
  at timestamptz)
returns fairmill.provider
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_half    interval := p.breaker_window_ms / 2.0 * interval '1 millisecond';
  v_limited interval := (facts ->> 'limited_ms')::float8 * interval '1 millisecond';
  v_probe   text := facts ->> 'probe';
begin
  if at >= p.window_at + v_half then
    p.calls_before := case when at < p.window_at + v_half * 2 then p.calls else 0 end;
    p.failures_before := case when at < p.window_at + v_half * 2 then p.failures else 0 end;
    p.calls := 0;
    p.failures := 0;
    p.window_at := at;
  end if;
  if p.breaker = 'closed' then
    p.calls := p.calls + coalesce((facts ->> 'ok')::integer, 0) + coalesce((facts ->> 'failed')::integer, 0);
    p.failures := p.failures + coalesce((facts ->> 'failed')::integer, 0);
  end if;

  if p.breaker = 'half-open' and p.probe_worker = worker and p.probe_no = (facts ->> 'probe_no')::bigint
    and v_probe is not null then
    p.probe_worker := null;
    p.probe_until := null;
    p.try_until := null;
    if v_probe = 'ok' then
      p.breaker := 'closed';
      p.calls := 0;
      p.failures := 0;
      p.calls_before := 0;
      p.failures_before := 0;
      if p.closed_why = 'breaker' then
        p.closed_until := null;
        p.closed_why := null;
      end if;
    else
      p.breaker := 'open';
      if p.closed_why = 'breaker' then
        -- A probe that was cut says nothing: another one may begin at once.
        p.closed_until := case
          when v_probe = 'failed' then at + p.breaker_open_ms * interval '1 millisecond' else at end;
      end if;
    end if;
    p.breaker_at := at;
    insert into fairmill.provider_event (provider, event, until, worker)
    values (p.name, case when v_probe = 'ok' then 'recovered' else 'probe-failed' end, p.closed_until, worker);
  end if;

  if v_limited is not null and p.closed_why is distinct from 'hand'
    and at + v_limited > coalesce(p.closed_until, '-infinity') then
    -- Workers whose calls were under way hear the same: that is no second event.
    if p.closed_why is distinct from 'rate-limit' or at >= p.closed_until then
      insert into fairmill.provider_event (provider, event, until, worker, detail)
      values (p.name, 'rate-limited', at + v_limited, worker, facts -> 'limited_by');
    end if;
    p.closed_until := at + v_limited;
    p.closed_why := 'rate-limit';
    p.closed_note := null;
  end if;

  if p.breaker = 'closed' and p.calls + p.calls_before >= p.breaker_calls
    and p.failures + p.failures_before >= p.breaker_rate * (p.calls + p.calls_before) then
    p.breaker := 'open';
    p.breaker_at := at;
    if p.closed_why is distinct from 'hand' then
      p.closed_until := greatest(p.closed_until, at + p.breaker_open_ms * interval '1 millisecond');
      p.closed_why := 'breaker';
      p.closed_note := null;
    end if;
    insert into fairmill.provider_event (provider, event, until, worker, detail)
    values (p.name, 'tripped', p.closed_until, worker,
      jsonb_build_object('calls', p.calls + p.calls_before, 'failures', p.failures + p.failures_before));
    p.calls := 0;
    p.failures := 0;
    p.calls_before := 0;
    p.failures_before := 0;
  end if;

  if p.breaker = 'closed' and p.closed_until <= at then
    p.closed_until := null;
    p.closed_why := null;
    p.closed_note := null;
  end if;
  return p;
end
$$;
