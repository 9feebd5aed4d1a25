-- Spends the rates of gates for what a claim started, and tells which gates are closed now. Part of claim_limited, under its locks.
--   gates  as room_of_limits said;  used: "tenant acme" → how many were started, or null;  at: the moment of the claim
-- Result: the list for the worker, as claim_limited describes it; null: nothing is closed.
create or replace function fairmill.closed_limits(gates jsonb, used jsonb, at timestamptz)
returns jsonb
language plpgsql
as $$
#variable_conflict use_column
begin
  if gates @? '$.*.per_ms' then
    update fairmill.meter m set spent_at = s.new_spent_at, spent = s.new_spent, used_at = date_trunc('hour', at)
    from jsonb_each(gates) as g (name, gate)
    cross join lateral (select o.use, o.scope, o.name, o.spent_at, o.spent from fairmill.meter o
                        where o.use = 'start' and o.scope = g.gate ->> 'scope' and o.name = g.gate ->> 'name' offset 0) o
    cross join lateral fairmill.rate_spend(o.spent_at, o.spent, (g.gate -> 'limit')::integer, (g.gate -> 'per_ms')::bigint, g.gate ->> 'how', at, (used -> g.name)::integer) s
    where g.gate ? 'per_ms' and used ? g.name and m.use = o.use and m.scope = o.scope and m.name = o.name;
  end if;
  return (
    select jsonb_agg(jsonb_build_object('scope', g.gate -> 'scope', 'name', g.gate -> 'name',
        'why', coalesce(g.gate ->> 'why', case when (g.gate -> 'free')::integer <= coalesce((used -> g.name)::integer, 0) then 'cap' else 'rate' end),
        'open_in_ms', case when g.gate ? 'per_ms' and g.gate ->> 'why' is distinct from 'cap' then
          (select greatest(0, extract(epoch from r.open_at - at)::float8 * 1000) from fairmill.meter m
           cross join lateral fairmill.rate_room(m.spent_at, m.spent, (g.gate -> 'limit')::integer, (g.gate -> 'per_ms')::bigint, g.gate ->> 'how', at) r
           where m.use = 'start' and m.scope = g.gate ->> 'scope' and m.name = g.gate ->> 'name' and r.room <= 0) end))
    from jsonb_each(gates) as g (name, gate)
    where (g.gate -> 'room')::integer <= coalesce((used -> g.name)::integer, 0));
end
$$;
