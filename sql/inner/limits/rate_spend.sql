-- Writes down that so many started at a moment: the new contents of the meter. What no longer counts is dropped.
-- window: starts of one 256th of the period are added up, so that a meter stays small whatever the limit. They count
-- from the last of them: a start counts a little longer than it must, never shorter. It is a moment that has been, not
-- the end of the 256th: under a shorter period, which may be set at any time, that would lie far ahead, and the rate
-- would be closed until then.
-- uniform: the last start is all there is to know.
create or replace function fairmill.rate_spend(spent_at timestamptz[], spent integer[], rate_limit integer,
  rate_per_ms bigint, rate_how text, at timestamptz, starts integer,
  out new_spent_at timestamptz[], out new_spent integer[])
language plpgsql immutable
as $$
declare
  v_from  timestamptz := at - rate_per_ms * interval '1 millisecond';
  v_step  constant float8 := rate_per_ms / 256000.0;  -- in seconds
  -- of the 256th
  v_begin constant timestamptz := to_timestamp((ceil(extract(epoch from at)::float8 / v_step) - 1) * v_step);
  v_first integer := 1;
  v_last  integer := coalesce(cardinality(spent), 0);
begin
  if rate_how = 'uniform' then
    new_spent_at := array[at];
    new_spent := array[starts];
    return;
  end if;
  while v_first <= v_last and spent_at[v_first] <= v_from loop
    v_first := v_first + 1;
  end loop;
  new_spent_at := coalesce(spent_at[v_first:v_last], '{}');
  new_spent := coalesce(spent[v_first:v_last], '{}');
  v_last := cardinality(new_spent);
  if v_last > 0 and new_spent_at[v_last] > v_begin then
    new_spent_at[v_last] := greatest(new_spent_at[v_last], at);
    new_spent[v_last] := new_spent[v_last] + starts;
  else
    new_spent_at := new_spent_at || at;
    new_spent := new_spent || starts;
  end if;
end
$$;
