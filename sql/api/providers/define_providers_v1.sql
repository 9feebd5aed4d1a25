-- Says what providers there are, and which of them kinds need. The definition that was reported last is in force. State
-- is left alone.
--   providers  [{"name", "per_second", "in_flight", "timeout_ms", "breaker_rate", "breaker_calls",
--              "breaker_window_ms", "breaker_open_ms", "currency"}, …]
--   needs      {"kind": [["gemini", "second"], ["pixian"]], "other": null}: null takes away what was said before
-- Result: nothing.
-- Locks: 28 provider (by name).
-- Plan expected: probes of the primary keys.
create or replace function fairmill.define_providers_v1(providers jsonb, needs jsonb default '{}')
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  -- Written where something differs, so that the start of a worker waits for no one.
  insert into fairmill.provider as p (name, per_second, in_flight, timeout_ms, breaker_rate, breaker_calls,
    breaker_window_ms, breaker_open_ms, currency)
  select distinct on (d.name) d.name, d.per_second, d.in_flight, d.timeout_ms, d.breaker_rate, d.breaker_calls,
    d.breaker_window_ms, d.breaker_open_ms, d.currency
  from jsonb_to_recordset(providers) as d (name text, per_second float8, in_flight integer, timeout_ms bigint,
    breaker_rate float8, breaker_calls integer, breaker_window_ms bigint, breaker_open_ms bigint, currency text)
  order by d.name
  on conflict (name) do update set per_second = excluded.per_second, in_flight = excluded.in_flight,
    in_flight_before = case when excluded.in_flight < coalesce(p.in_flight, 2147483647)
      then greatest(p.in_flight_before, coalesce(p.in_flight, 2147483647)) else p.in_flight_before end,
    timeout_ms = excluded.timeout_ms, breaker_rate = excluded.breaker_rate, breaker_calls = excluded.breaker_calls,
    breaker_window_ms = excluded.breaker_window_ms, breaker_open_ms = excluded.breaker_open_ms,
    currency = excluded.currency, defined_at = now()
  where (p.per_second, p.in_flight, p.timeout_ms, p.breaker_rate, p.breaker_calls, p.breaker_window_ms,
      p.breaker_open_ms, p.currency)
    is distinct from
    (excluded.per_second, excluded.in_flight, excluded.timeout_ms, excluded.breaker_rate, excluded.breaker_calls,
      excluded.breaker_window_ms, excluded.breaker_open_ms, excluded.currency);
  insert into fairmill.provider_need as n (kind, chains)
  select e.key, e.value from jsonb_each(needs) e where jsonb_typeof(e.value) = 'array' order by e.key
  on conflict (kind) do update set chains = excluded.chains where n.chains <> excluded.chains;
  delete from fairmill.provider_need n
  using jsonb_each(needs) e
  where e.value = 'null' and n.kind = e.key;
end
$$;
