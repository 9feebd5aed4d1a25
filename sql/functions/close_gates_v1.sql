-- Spends the rates of gates for what a claim started, and tells which gates are closed now. Part of claim_gated_v1, under its locks.
--   gates  as gate_rooms_v1 said;  used: {scope: {name: count}} what was started, or null
--   at     the moment of the claim
-- Result: the list for the worker, as claim_gated_v1 describes it; null: nothing is closed.
create or replace function fairmill.close_gates_v1(gates jsonb, used jsonb, at timestamptz)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_held jsonb;
  v_gate record;
  v_open timestamptz;
begin
  for v_gate in
    select s.scope, g.name, g.gate, room.room, room.count
    from jsonb_each(gates) as s (scope, gates)
    cross join lateral jsonb_each(s.gates) as g (name, gate)
    -- Looked up, not joined: the planner knows nothing of what is in the objects, and would compare each with each.
    cross join lateral (select (g.gate -> 'room')::integer as room, coalesce((used #> array[s.scope, g.name])::integer, 0) as count offset 0) room
    where room.count > 0 or room.room = 0
  loop
    v_open := (v_gate.gate ->> 'open_at')::timestamptz;
    if v_gate.count > 0 and v_gate.gate ? 'per_ms' then
      update fairmill.meter m set spent_at = s.new_spent_at, spent = s.new_spent, used_at = date_trunc('hour', at)
      from fairmill.meter o
      cross join lateral fairmill.rate_spend_v1(o.spent_at, o.spent, (v_gate.gate -> 'limit')::integer, (v_gate.gate -> 'per_ms')::bigint, v_gate.gate ->> 'how', at, v_gate.count) s
      where m.use = 'start' and m.scope = v_gate.scope and m.name = v_gate.name and o.use = m.use and o.scope = m.scope and o.name = m.name;
      select r.open_at into v_open from fairmill.meter m
      cross join lateral fairmill.rate_room_v1(m.spent_at, m.spent, (v_gate.gate -> 'limit')::integer, (v_gate.gate -> 'per_ms')::bigint, v_gate.gate ->> 'how', at) r
      where m.use = 'start' and m.scope = v_gate.scope and m.name = v_gate.name;
    end if;
    if v_gate.room <= v_gate.count then
      v_held := coalesce(v_held, '[]') || jsonb_build_object('scope', v_gate.scope, 'name', v_gate.name,
        'why', coalesce(v_gate.gate ->> 'why', case when (v_gate.gate -> 'free')::integer <= v_gate.count then 'cap' else 'rate' end),
        'open_in_ms', case when v_open > at then extract(epoch from v_open - at)::float8 * 1000 end);
    end if;
  end loop;
  return v_held;
end
$$;
