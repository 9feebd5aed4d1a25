-- A worker and a provider's shared state: the worker reports what its calls came to, and asks for calls that it may
-- begin.
--   facts  held: calls in flight;  waiting: calls that wait for their turn;  wanted: how many may begin if there is
--          room;  lead_ms: how long an answer takes to reach the worker, at most 50;  late: [{"of", "ms"}, …], calls
--          that came later to their times (of, as starts has them) than the pace allows for, and by how much;
--          ok, failed: results since the last report;  limited_ms: the provider said that it takes no call for this
--          long, limited_by: how it said so;  probe, probe_no: what the probe came to (ok | failed | cut);
--          minute: {calls, failures, limited, sum_ms, max_ms, buckets}, for the record
-- Result: at: the time of the answer in milliseconds since 1970;  permits: how many calls the worker may have in
--   flight, null: any number;  starts: times in milliseconds since 1970 at which a call may begin, one call each, null:
--   at once, as far as permits go;  keep_ms: for how long permits may be used again without asking;  closed_in_ms,
--   closed_why: no call may begin, and for how long, null: until it is opened;  probe_no: the one call that may begin
--   is a probe;  others_wait: other workers wait;  unknown: there is no such provider, see define_providers_v1.
-- Starts are four per cent further apart than the limit asks for, so that the receiver sees no more than it allows
-- although calls take different times to reach it.
-- Locks: 28 provider (one), 29 provider share (after their provider), then as record_provider_minute.
-- Plan expected: the provider and its shares by their primary keys, each share's worker by its own.
create or replace function fairmill.sync_provider_v1(provider text, worker_id text, facts jsonb)
returns jsonb
language plpgsql
as $$
#variable_conflict use_column
declare
  c_margin  constant float8 := 1.04;
  c_turn    constant interval := '1 second';
  c_ahead   constant interval := '500 milliseconds';
  v_old     fairmill.provider;
  v_new     fairmill.provider;
  v_share   fairmill.provider_share;
  v_at      timestamptz;
  v_held    integer := coalesce((facts ->> 'held')::integer, 0);
  v_waiting integer := coalesce((facts ->> 'waiting')::integer, 0);
  v_wanted  integer := least(coalesce((facts ->> 'wanted')::integer, 0), 1000);
  v_allowed record;
  v_probes  boolean := false;
  v_starts  jsonb;
  v_count   integer;
  v_first   timestamptz;
  v_gap     interval;
  v_put_off interval := '0';
  v_closed  boolean;
  v_permits integer;
  v_waited  integer;
begin
  select * into v_old from fairmill.provider p where p.name = sync_provider_v1.provider for update;
  if not found then
    return jsonb_build_object('unknown', true);
  end if;
  v_at := clock_timestamp();
  v_new := fairmill.provider_after_results(v_old, worker_id, facts, v_at);

  delete from fairmill.provider_share s
  where s.provider = v_new.name and s.worker <> worker_id and not exists (
    select from fairmill.worker w where w.id = s.worker and w.state = 'alive' and w.lease_until > v_at);
  select * into v_share from fairmill.provider_share s where s.provider = v_new.name and s.worker = worker_id;
  if not found then
    v_share := row(v_new.name, worker_id, 0, 0, '-infinity', '-infinity')::fairmill.provider_share;
  end if;

  v_permits := v_share.permits;
  v_waited := v_share.waiting;

  v_closed := v_new.closed_until > v_at;
  if v_closed is not true and v_new.breaker <> 'closed' and v_wanted > 0 then
    -- One call of the fleet finds out; a probe whose time is over is lost.
    v_probes := true;
    v_wanted := 1;
  end if;
  select * into v_allowed from fairmill.provider_permits(
    v_new, v_share, v_held, case when v_closed then 0 else v_wanted end, v_at);
  v_count := v_allowed.permits - v_held;
  if v_probes and v_count > 0 then
    v_new.breaker := 'half-open';
    v_new.breaker_at := v_at;
    v_new.probe_no := v_new.probe_no + 1;
    v_new.probe_worker := worker_id;
    v_new.probe_until := v_at + (v_new.timeout_ms + 1000) * interval '1 millisecond';
    v_new.closed_until := v_new.probe_until;
    v_new.closed_why := 'breaker';
    insert into fairmill.provider_event (provider, event, until, worker)
    values (v_new.name, 'probing', v_new.probe_until, worker_id);
  end if;
  if v_new.per_second is not null and not v_probes then
    v_gap := c_margin / v_new.per_second * interval '1 second';
    if facts ? 'late' then
      v_put_off := fairmill.put_off_starts(facts -> 'late', v_new.next_start_at, v_gap);
      v_new.next_start_at := v_new.next_start_at + v_put_off;
    end if;
    v_first := greatest(v_new.next_start_at,
      v_at + least(50, coalesce((facts ->> 'lead_ms')::float8, 0)) * interval '1 millisecond');
    -- No further ahead than this, so that what becomes known meanwhile holds for all but a few calls.
    v_count := least(v_count, greatest(
      case when v_first < v_at + c_ahead then 1 else 0 end,
      ceil(extract(epoch from v_at + c_ahead - v_first) / extract(epoch from v_gap))))::integer;
    select coalesce(jsonb_agg(extract(epoch from v_first + v_gap * n)::float8 * 1000), '[]') into v_starts
    from generate_series(0, v_count - 1) as n;
    if v_count > 0 then
      v_new.next_start_at := v_first + v_gap * v_count;
    end if;
  end if;

  if v_count > 0 then
    v_share.served_at := v_at;
    if v_share.turn_until <= v_at then
      v_share.turn_until := v_at + c_turn;
    end if;
  end if;
  -- What is still waiting, here and elsewhere, is for claims to know.
  v_waiting := greatest(0, v_waiting - v_count);
  if v_held + v_count + v_waiting = 0 then
    delete from fairmill.provider_share s where s.provider = v_new.name and s.worker = worker_id;
  else
    insert into fairmill.provider_share as s (provider, worker, permits, waiting, turn_until, served_at)
    values (v_new.name, worker_id, v_held + v_count, v_waiting, v_share.turn_until, v_share.served_at)
    on conflict on constraint provider_share_pkey do update
    set permits = excluded.permits, waiting = excluded.waiting, turn_until = excluded.turn_until,
      served_at = excluded.served_at;
  end if;
  v_new := fairmill.provider_crowd(v_new, v_at);
  if v_new is distinct from v_old then
    update fairmill.provider p
    set in_flight_before = v_new.in_flight_before, breaker = v_new.breaker, breaker_at = v_new.breaker_at,
      probe_no = v_new.probe_no, probe_worker = v_new.probe_worker, probe_until = v_new.probe_until,
      closed_until = v_new.closed_until, closed_why = v_new.closed_why, closed_note = v_new.closed_note,
      try_until = v_new.try_until, crowded_until = v_new.crowded_until, next_start_at = v_new.next_start_at,
      window_at = v_new.window_at, calls = v_new.calls, failures = v_new.failures,
      calls_before = v_new.calls_before, failures_before = v_new.failures_before
    where p.name = v_new.name;
  end if;
  -- Counts of results may be lost in a crash of the server; what calls were allowed, and what is closed, may not.
  if v_count <= 0 and (v_new.breaker, v_new.closed_until) is not distinct from (v_old.breaker, v_old.closed_until) then
    perform set_config('synchronous_commit', 'off', true);
  end if;
  if facts ? 'minute' then
    perform fairmill.record_provider_minute(v_new.name, facts -> 'minute', v_at);
  end if;

  if v_old.closed_until > v_at and v_new.closed_until is null then
    perform pg_notify('fairmill', '!provider open ' || v_new.name);
  elsif v_new.closed_until > v_at and v_new.closed_until is distinct from v_old.closed_until then
    perform pg_notify('fairmill', '!provider closed ' || v_new.name);
  elsif v_allowed.others_wait and v_permits > v_held + v_count then
    -- Permits have become free here: workers that wait for them, and were served longest ago, are told by name.
    perform pg_notify('fairmill', '!provider turn ' || s.worker || ' ' || v_new.name)
    from (
      select x.worker from fairmill.provider_share x
      where x.provider = v_new.name and x.worker <> worker_id and x.waiting > 0
      order by x.permits, x.served_at limit v_permits - v_held - v_count) s;
  elsif v_waiting > 0 and v_waited = 0 and v_new.in_flight is not null and v_new.per_second is null then
    -- Calls begin to wait here: another worker may have permits that it does not use.
    perform pg_notify('fairmill', '!provider wanted ' || v_new.name);
  end if;
  return jsonb_strip_nulls(jsonb_build_object(
    'at', extract(epoch from v_at)::float8 * 1000,
    'permits', case when v_new.in_flight is not null then v_held + v_count end,
    'starts', v_starts,
    'keep_ms', case when v_allowed.others_wait
      then greatest(0, extract(epoch from v_share.turn_until - v_at)::float8 * 1000) else 1000 end,
    'closed_in_ms', case when v_new.closed_until > v_at and v_new.closed_until < 'infinity'
      then extract(epoch from v_new.closed_until - v_at)::float8 * 1000 end,
    'closed_why', case when v_new.closed_until > v_at then v_new.closed_why end,
    'probe_no', case when v_probes and v_count > 0 then v_new.probe_no end,
    'others_wait', v_allowed.others_wait));
end
$$;
