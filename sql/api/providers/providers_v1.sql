-- Providers as they stand, by name.
--   names  null: all
-- Result: settings, the breaker, what closes them and until when (infinity: until it is opened), calls in flight and
--   waiting in the fleet, and of the last five minutes: calls, the share that failed, latencies in milliseconds (bounds
--   of the buckets they fall into).
-- Locks: none.
-- Plan expected: few rows by their primary keys.
create or replace function fairmill.providers_v1(names text[] default null)
returns table (name text, per_second float8, in_flight_max integer, timeout_ms bigint, currency text, breaker text,
  breaker_at timestamptz, closed_until timestamptz, closed_why text, closed_note text, in_flight integer,
  waiting integer, calls bigint, failures bigint, limited bigint, mean_ms float8, buckets bigint[], kinds text[])
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return query
    select p.name, p.per_second, p.in_flight, p.timeout_ms, p.currency, p.breaker, p.breaker_at,
      case when p.breaker = 'closed' and p.closed_until <= clock_timestamp() then null else p.closed_until end,
      case when p.breaker = 'closed' and p.closed_until <= clock_timestamp() then null else p.closed_why end,
      p.closed_note, s.permits, s.waiting, m.calls, m.failures, m.limited, m.mean_ms, m.buckets,
      array(
        select n.kind from fairmill.provider_need n
        where n.chains @? ('$[*][*] ? (@ == ' || to_jsonb(p.name)::text || ')')::jsonpath
        order by n.kind limit 100)
    from fairmill.provider p
    cross join lateral (
      select coalesce(sum(x.permits), 0)::integer as permits, coalesce(sum(x.waiting), 0)::integer as waiting
      from fairmill.provider_share x
      where x.provider = p.name and exists (
        select from fairmill.worker w
        where w.id = x.worker and w.state = 'alive' and w.lease_until > clock_timestamp())) s
    cross join lateral (
      select coalesce(sum(x.calls), 0)::bigint as calls, coalesce(sum(x.failures), 0)::bigint as failures,
        coalesce(sum(x.limited), 0)::bigint as limited, sum(x.sum_ms) / nullif(sum(x.calls), 0) as mean_ms,
        (
          select array_agg(b.count order by b.n)
          from (
            select u.n, sum(u.count)::bigint as count from fairmill.provider_minute y
            cross join lateral unnest(y.buckets) with ordinality as u (count, n)
            where y.provider = p.name and y.minute >= now() - interval '5 minutes'
            group by u.n) b) as buckets
      from fairmill.provider_minute x
      where x.provider = p.name and x.minute >= now() - interval '5 minutes') m
    where names is null or p.name = any (names)
    order by p.name
    limit 1000;
end
$$;
