-- How many may start at a moment under a rate, and when so many as are wanted may.
--   spent_at, spent  of the meter;  rate_*: of the limit;  at: the moment, by the database's clock
--   wanted           open_at tells when so many fit; more than the limit never do, then it tells when the limit does
-- window: what was spent counts until it is older than the period, so no sliding window of that length ever holds more
-- than the limit.
-- uniform: one, if the last is long enough ago.
create or replace function fairmill.rate_room(spent_at timestamptz[], spent integer[], rate_limit integer,
  rate_per_ms bigint, rate_how text, at timestamptz,
  wanted integer default 1, out room integer, out open_at timestamptz)
language plpgsql immutable
as $$
declare
  v_per   constant interval := rate_per_ms * interval '1 millisecond';
  v_count integer := coalesce(cardinality(spent), 0);
  v_later integer;
begin
  if rate_how = 'uniform' then
    open_at := greatest(at, spent_at[v_count] + ceil(rate_per_ms * 1000.0 / rate_limit)::float8 * interval
      '1 microsecond');
    room := (open_at <= at)::integer;
    return;
  end if;
  room := rate_limit;
  for i in 1 .. v_count loop
    if spent_at[i] > at - v_per then
      room := room - spent[i];
    end if;
  end loop;
  open_at := at;
  v_later := room;
  -- Oldest first: one after the other is given back, until there is room enough.
  for i in 1 .. v_count loop
    exit when v_later >= least(wanted, rate_limit);
    if spent_at[i] > at - v_per then
      v_later := v_later + spent[i];
      open_at := spent_at[i] + v_per;
    end if;
  end loop;
  room := greatest(room, 0);
end
$$;
