-- How many units a window has left at a time, and when the wanted number fits. While something is owed it has none.
--   spent_at, spent, owed  of the meter;  max_units, per_ms: of the window;  at: the time, by the database's clock
-- Result: used, what counts in the window now; owed, what waits for room; room; open_at, when wanted units fit. Where
-- what is owed comes first open_at is an estimate, never too early by more than the corrections that are still to come.
create or replace function fairmill.unit_room(spent_at timestamptz[], spent integer[], owed bigint, max_units integer,
  per_ms bigint, at timestamptz, wanted bigint, out used bigint, out left_owed bigint, out room integer,
  out open_at timestamptz)
language plpgsql immutable
as $$
declare
  v_ahead bigint;
begin
  select d.new_spent_at, d.new_spent, coalesce(d.new_owed, 0) into spent_at, spent, left_owed
    from fairmill.pay_debt(spent_at, spent, owed, max_units, per_ms, at) d;
  v_ahead := left_owed + least(wanted, max_units);
  select max_units - r.room, case when left_owed > 0 then 0 else r.room end,
      case when v_ahead <= max_units then r.open_at
        else at + v_ahead::float8 / max_units * per_ms * interval '1 millisecond' end
    into used, room, open_at
  from fairmill.rate_room(spent_at, spent, max_units, per_ms, 'window', at, least(v_ahead, max_units)::integer) r;
end
$$;
