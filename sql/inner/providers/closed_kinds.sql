-- Kinds of which a claim may take no job now, or only one, because of the providers that they need. Asked by claims, by
-- backlog_v1 and by why_v1.
--   kinds  null: all that need something
-- Result: a row per such kind: room (0, or 1: a job may find out whether a provider is back), open_at (when it is worth
--   asking again; infinity: when a provider is opened by hand), providers (those that keep it), is_crowded (they are
--   open, and have more calls waiting than they take in a second), tries (providers that the one job would try).
-- A chain is closed while all its providers are.
-- Plan expected: the needs and the providers by their primary keys. There are few of both.
create or replace function fairmill.closed_kinds(kinds text[], at timestamptz)
returns table (kind text, room integer, open_at timestamptz, providers text[], is_crowded boolean, tries text[])
language sql stable
as $$
  with need as (
    select n.kind, c.value as chain, c.ordinality as chain_no
    from fairmill.provider_need n
    cross join lateral jsonb_array_elements(n.chains) with ordinality c
    where kinds is null or n.kind = any (kinds)),
  link as (
    select n.kind, n.chain_no, name.value as provider,
      p.closed_until > at or p.breaker <> 'closed' as is_closed,
      p.breaker <> 'closed' and p.closed_until <= at and coalesce(p.try_until <= at, true) as may_try,
      coalesce(p.crowded_until > at, false) as is_crowded,
      case when p.closed_until > at or p.breaker <> 'closed' then greatest(p.closed_until, p.try_until)
        else p.crowded_until end as open_at
    from need n
    cross join lateral jsonb_array_elements_text(n.chain) name
    left join fairmill.provider p on p.name = name.value),
  chain as (
    select l.kind, l.chain_no, min(l.open_at) as open_at, array_agg(l.provider) as providers,
      bool_and(l.is_closed) as is_closed, coalesce(array_agg(l.provider) filter (where l.may_try), '{}') as tries
    from link l
    group by l.kind, l.chain_no
    having bool_and(coalesce(l.is_closed, false) or l.is_crowded))
  select c.kind, case when bool_and(cardinality(c.tries) > 0) then 1 else 0 end,
    max(c.open_at) filter (where cardinality(c.tries) = 0),
    (select array_agg(distinct x) from (select unnest(y.providers) as x from chain y where y.kind = c.kind) z),
    not bool_or(c.is_closed),
    (select array_agg(distinct x) from (select unnest(y.tries) as x from chain y where y.kind = c.kind) z)
  from chain c
  group by c.kind
$$;
