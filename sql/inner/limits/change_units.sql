-- Corrects what counts under named limits. What was used beyond what counts already is owed, and counts from the time
-- on at which there is room; what was not used is taken off the start that had taken it, while that still counts.
--   changes  [{"limit", "key", "unit", "delta", "started_at"}, …]: delta, more or less; started_at, of the run that
--            took it, for less than it took
-- Jobs for which there is room now are due at once (pull_waiting).
-- Locks: 17 key meter, 19 waiting job.
-- Plan expected: the meters by their names.
create or replace function fairmill.change_units(changes jsonb)
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_meters text[];
  v_at     timestamptz;
  v_change record;
  v_meter  fairmill.meter;
  v_i      integer;
  v_back   integer;
begin
  select array_agg(distinct jsonb_build_array(c.change -> 'limit', c.change -> 'key', w.own -> 'unit',
      w.own -> 'n')::text) into v_meters
  from jsonb_array_elements(changes) as c (change)
  cross join lateral jsonb_array_elements(fairmill.windows_in_force(c.change ->> 'limit')) as w (own)
  where w.own -> 'unit' = c.change -> 'unit' and (c.change -> 'delta')::bigint <> 0;
  if v_meters is null then
    return;
  end if;
  perform fairmill.lock_meters('start', 'limit', v_meters);
  v_at := clock_timestamp();
  for v_change in
    select jsonb_build_array(c.change -> 'limit', c.change -> 'key', w.own -> 'unit', w.own -> 'n')::text as meter,
      (c.change -> 'delta')::bigint as delta, (c.change ->> 'started_at')::timestamptz as started_at,
      (w.own -> 'limit')::integer as max_units, (w.own -> 'per_ms')::bigint as per_ms
    from jsonb_array_elements(changes) as c (change)
    cross join lateral jsonb_array_elements(fairmill.windows_in_force(c.change ->> 'limit')) as w (own)
    where w.own -> 'unit' = c.change -> 'unit' and (c.change -> 'delta')::bigint <> 0
  loop
    select m.* into v_meter from fairmill.meter m where m.use = 'start' and m.scope = 'limit'
      and m.name = v_change.meter;
    -- What was owed until now took the room that there was before this change.
    select d.new_spent_at, d.new_spent, d.new_owed into v_meter.spent_at, v_meter.spent, v_meter.owed
      from fairmill.pay_debt(v_meter.spent_at, v_meter.spent, v_meter.owed, v_change.max_units, v_change.per_ms,
        v_at) d;
    if v_change.delta > 0 then
      v_meter.owed := coalesce(v_meter.owed, 0) + v_change.delta;
    elsif v_change.started_at > v_at - v_change.per_ms * interval '1 millisecond' then
      -- Starts of one 256th of the period stand together, at the last of them. Further away than that they stand
      -- under another start: theirs was forgotten while the period was shorter.
      v_i := (select min(s.n) from unnest(v_meter.spent_at) with ordinality as s (at, n)
        where s.at >= v_change.started_at);
      if v_meter.spent_at[v_i] - v_change.started_at
        <= (v_change.per_ms / 256.0)::float8 * interval '1 millisecond' + interval '1 microsecond' then
        v_back := least(-v_change.delta, v_meter.spent[v_i]);
        v_meter.spent[v_i] := v_meter.spent[v_i] - v_back;
      end if;
    end if;
    select d.new_spent_at, d.new_spent, d.new_owed into v_meter.spent_at, v_meter.spent, v_meter.owed
      from fairmill.pay_debt(v_meter.spent_at, v_meter.spent, v_meter.owed, v_change.max_units, v_change.per_ms,
        v_at) d;
    update fairmill.meter m set spent_at = v_meter.spent_at, spent = v_meter.spent, owed = v_meter.owed,
      used_at = date_trunc('hour', v_at)
    where m.use = 'start' and m.scope = 'limit' and m.name = v_change.meter;
  end loop;
  if jsonb_path_exists(changes, '$[*] ? (@.delta < 0)') then
    perform fairmill.pull_waiting(array(select distinct jsonb_build_array(c.change -> 'limit',
      c.change -> 'key')::text from jsonb_array_elements(changes) as c (change)
      where (c.change -> 'delta')::bigint < 0));
  end if;
end
$$;
