-- Adds what calls cost to the sums of their days, or subtracts it again. Part of charge_calls_v1.
--   changes  [{"day", "tenant", "provider", "kind", "currency", "calls", "cost"}, …];  sign: 1 or -1
-- Locks: 30 call record (sums by their key).
create or replace function fairmill.add_costs(changes jsonb, sign integer)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  insert into fairmill.provider_cost as s (day, tenant, provider, kind, currency, calls, cost)
  select c.day, c.tenant, c.provider, c.kind, c.currency, sign * sum(c.calls), sign * sum(c.cost)
  from jsonb_to_recordset(changes) as c (day date, tenant text, provider text, kind text, currency text,
    calls bigint, cost numeric)
  group by c.day, c.tenant, c.provider, c.kind, c.currency
  having sum(c.calls) <> 0 or sum(c.cost) <> 0
  order by c.day, c.tenant collate "C", c.provider collate "C", c.kind collate "C", c.currency collate "C"
  on conflict on constraint provider_cost_pkey do update
  set calls = s.calls + excluded.calls, cost = s.cost + excluded.cost;
end
$$;
