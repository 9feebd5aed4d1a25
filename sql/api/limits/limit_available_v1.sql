-- What a named limit has left for a key: a row per window.
--   name, key  of the limit; a limit without keys has the key ''
-- Result: unit, max_units and per_ms of the window; used, what counts in it now; owed, what was used beyond it and
-- still has to count; available; open_at, when one unit is free, null: now.
-- Reads only; takes no lock. Plan expected: probes of named_limit_order and meter.
-- Locks: none.
create or replace function fairmill.limit_available_v1(name text, key text default '')
returns table (unit text, max_units integer, per_ms bigint, used bigint, owed bigint, available integer,
  open_at timestamptz)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_at constant timestamptz := clock_timestamp();
begin
  if fairmill.windows_in_force(limit_available_v1.name) is null then
    raise exception 'no limit is called "%"', limit_available_v1.name using errcode = 'FM001',
      hint = 'Define it with define_limit_v1, or start a worker that uses it.';
  end if;
  return query
    select u.unit, u.max_units, u.per_ms, r.used, r.left_owed, r.room, case when r.room < 1 then r.open_at end
    from fairmill.meters_of_uses(jsonb_build_array(
      jsonb_build_object('limit', limit_available_v1.name, 'key', coalesce(limit_available_v1.key, '')))) u
    left join lateral (
      select x.spent_at, x.spent, x.owed from fairmill.meter x
      where x.use = 'start' and x.scope = 'limit' and x.name = u.meter offset 0) m on true
    cross join lateral fairmill.unit_room(m.spent_at, m.spent, m.owed, u.max_units, u.per_ms, v_at, 1) r;
end
$$;
