-- Spends the rates of limits for what a claim started, and returns which limits are closed now. Part of claim_limited,
-- under its locks.
--   limits  as room_of_limits said;  used: "tenant acme" → how many were started, or null;  at: the time of the claim
-- Result: the list for the worker, as claim_limited describes it; null: nothing is closed.
-- Locks: none: the caller has 5 limit meter.
create or replace function fairmill.closed_limits(limits jsonb, used jsonb, at timestamptz)
returns jsonb
language plpgsql
set enable_sort = off
as $$
#variable_conflict use_column
begin
  if limits @? '$.*.per_ms' then
    update fairmill.meter m set spent_at = s.new_spent_at, spent = s.new_spent, used_at = date_trunc('hour', at)
    from jsonb_each(limits) as g (name, facts)
    -- Backwards, as in lock_meters.
    cross join lateral (select x.ctid as tid, x.spent_at, x.spent from fairmill.meter x
                        where x.use = 'start' and x.scope = g.facts ->> 'scope'
                          and x.name <= g.facts ->> 'name' and x.name >= g.facts ->> 'name'
                        order by x.name desc limit 1) o
    cross join lateral fairmill.rate_spend(o.spent_at, o.spent, (g.facts -> 'limit')::integer,
      (g.facts -> 'per_ms')::bigint, g.facts ->> 'how', at, (used -> g.name)::integer) s
    where g.facts ? 'per_ms' and used ? g.name and m.ctid = o.tid;
  end if;
  return (
    select jsonb_agg(jsonb_build_object('scope', g.facts -> 'scope', 'name', g.facts -> 'name',
        'why', coalesce(g.facts ->> 'why', case
          when (g.facts -> 'free')::integer <= coalesce((used -> g.name)::integer, 0) then 'cap' else 'rate' end),
        -- Of a provider as add_closed_kinds said.
        'open_in_ms', case when g.facts ? 'open_in_ms' then (g.facts -> 'open_in_ms')::float8
          when g.facts ->> 'why' = 'paused' and g.facts ? 'open_at' then
            greatest(0, extract(epoch from (g.facts ->> 'open_at')::timestamptz - at)::float8 * 1000)
          when g.facts ? 'per_ms' and coalesce(g.facts ->> 'why', 'rate') = 'rate' then
          (select greatest(0, extract(epoch from r.open_at - at)::float8 * 1000)
           from (select x.spent_at, x.spent from fairmill.meter x
                 where x.use = 'start' and x.scope = g.facts ->> 'scope'
                   and x.name <= g.facts ->> 'name' and x.name >= g.facts ->> 'name'
                 order by x.name desc limit 1) m
           cross join lateral fairmill.rate_room(m.spent_at, m.spent, (g.facts -> 'limit')::integer,
             (g.facts -> 'per_ms')::bigint, g.facts ->> 'how', at) r
           where r.room <= 0) end))
    from jsonb_each(limits) as g (name, facts)
    where (g.facts -> 'room')::integer <= coalesce((used -> g.name)::integer, 0));
end
$$;
