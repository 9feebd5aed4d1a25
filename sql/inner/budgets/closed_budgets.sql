-- Which kinds of which tenants a spent budget keeps from starting. Asked by enqueues, claims, backlog_v1 and why_v1.
--   tenants, kinds  null: all
-- Result: a row per tenant and kind, with one of the budgets that keep it: the one that opens last.
-- A budget of all providers keeps its kind. If it is of all kinds, too, it keeps those that need a provider and those
-- of which a call was refused. A budget of a single provider keeps the kinds that have no way around it: one of their
-- chains has only providers that are spent.
-- Plan expected: the index budget_closed, which is empty as a rule; the needs, of which there are few.
create or replace function fairmill.closed_budgets(tenants text[], kinds text[], at timestamptz)
returns table (tenant text, kind text, budget fairmill.budget)
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return query
    with spent as materialized (
      select b as budget, b.tenant, b.provider, b.kind, b.refused_kinds, b.closed_until from fairmill.budget b
      where b.closed_until > at and (tenants is null or b.tenant = any (tenants))),
    kept as (
      select s.tenant, k.kind, s.budget, s.closed_until
      from spent s
      cross join lateral (
        select s.kind as kind where s.kind <> ''
        union
        select n.kind from fairmill.provider_need n where s.kind = ''
        union
        select unnest(s.refused_kinds) where s.kind = '') k
      where s.provider = ''
      union all
      select s.tenant, n.kind, s.budget, s.closed_until
      from spent s
      cross join lateral (
        select x.kind, chain.value as chain from fairmill.provider_need x
        cross join lateral jsonb_array_elements(x.chains) as chain
        where s.kind in ('', x.kind) and chain.value ? s.provider) n
      where s.provider <> '' and not exists (
        select from jsonb_array_elements_text(n.chain) as name
        where not exists (
          select from spent o
          where o.tenant = s.tenant and o.provider = name.value and o.kind in ('', n.kind))))
    select distinct on (k.tenant, k.kind) k.tenant::text, k.kind::text, k.budget from kept k
    where kinds is null or k.kind = any (kinds)
    order by k.tenant, k.kind, k.closed_until desc;
end
$$;
