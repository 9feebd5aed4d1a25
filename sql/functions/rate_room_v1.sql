-- How many may start at a moment under a rate, and when the next one may if none can.
--   spent_at, spent  of the meter;  rate_*: of the gate or rule;  at: the moment, by the database's clock
-- window: what was spent counts until it is older than the period, so no sliding window of that length ever holds more than the limit.
-- uniform: one, if the moment that was kept free has come.
create or replace function fairmill.rate_room_v1(spent_at timestamptz[], spent integer[], rate_limit integer, rate_per_ms bigint, rate_how text, at timestamptz,
  out room integer, out open_at timestamptz)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_from timestamptz := at - rate_per_ms * interval '1 millisecond';
begin
  room := rate_limit;
  if rate_how = 'uniform' then
    open_at := coalesce(spent_at[1], at);
    room := (open_at <= at)::integer;
    return;
  end if;
  for i in 1 .. coalesce(cardinality(spent_at), 0) loop
    if spent_at[i] > v_from then
      -- Oldest first: the first one that still counts is the first to be given back.
      open_at := coalesce(open_at, spent_at[i] + rate_per_ms * interval '1 millisecond');
      room := room - spent[i];
    end if;
  end loop;
  room := greatest(room, 0);
  open_at := case when room > 0 then at else open_at end;
end
$$;
