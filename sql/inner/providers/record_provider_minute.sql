-- Adds figures of calls to the minute's record of a provider, and to the figures that metrics and alerts read
-- (api_latency, in seconds). Part of sync_provider_v1, which adds up for some seconds first.
--   figures  {"calls", "failures", "limited", "sum_ms", "max_ms", "buckets": [one number per bound, and one more]}
-- Locks: 30 call record.
create or replace function fairmill.record_provider_minute(provider text, figures jsonb, at timestamptz)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  insert into fairmill.provider_minute as m (provider, minute, calls, failures, limited, sum_ms, max_ms, buckets)
  values (record_provider_minute.provider, date_trunc('minute', at), (figures ->> 'calls')::integer,
    (figures ->> 'failures')::integer, (figures ->> 'limited')::integer, (figures ->> 'sum_ms')::float8,
    (figures ->> 'max_ms')::float8, array(select b::integer from jsonb_array_elements_text(figures -> 'buckets') b))
  on conflict on constraint provider_minute_pkey do update
  set calls = m.calls + excluded.calls, failures = m.failures + excluded.failures,
    limited = m.limited + excluded.limited, sum_ms = m.sum_ms + excluded.sum_ms,
    max_ms = greatest(m.max_ms, excluded.max_ms),
    buckets = array(
      select coalesce(x.a, 0) + coalesce(x.b, 0)
      from unnest(m.buckets, excluded.buckets) with ordinality as x (a, b, n)
      order by x.n);
  if (figures ->> 'calls')::integer > 0 then
    insert into fairmill.metric_sample (name, label, count, sum, max)
    values ('api_latency', record_provider_minute.provider, (figures ->> 'calls')::integer,
      (figures ->> 'sum_ms')::float8 / 1000, (figures ->> 'max_ms')::float8 / 1000);
  end if;
end
$$;
