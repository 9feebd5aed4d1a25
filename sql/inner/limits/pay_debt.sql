-- Lets what is owed under a window count, as far as it had room since: the contents of the meter at a time. Room that
-- became free at some time counts as taken from that time on, so that no window of the period ever holds more than
-- the limit, however late it is asked.
--   spent_at, spent, owed  of the meter;  max_units, per_ms: of the window;  at: the time, by the database's clock
-- While something is owed the window is full, so that its contents repeat themselves every period: of a long time
-- whole periods are taken at once.
create or replace function fairmill.pay_debt(spent_at timestamptz[], spent integer[], owed bigint, max_units integer,
  per_ms bigint, at timestamptz, out new_spent_at timestamptz[], out new_spent integer[], out new_owed bigint)
language plpgsql immutable
as $$
declare
  v_per  constant interval := per_ms * interval '1 millisecond';
  v_sum  bigint;
  v_turns bigint;
  v_due  timestamptz;
  v_paid integer;
begin
  new_spent_at := spent_at;
  new_spent := spent;
  new_owed := owed;
  if owed is null then
    return;
  end if;
  v_sum := (select sum(s) from unnest(spent) as s);
  if v_sum > 0 then
    v_turns := least(floor(extract(epoch from at - spent_at[1])::float8 * 1000 / per_ms)::bigint - 1, owed / v_sum);
    if v_turns > 0 then
      new_spent_at := array(select s + v_turns * v_per from unnest(spent_at) with ordinality as u (s, n) order by n);
      new_owed := owed - v_turns * v_sum;
    end if;
  end if;
  -- One after the other is over, and what is owed takes its room at that time.
  while new_owed > 0 and new_spent_at[1] + v_per <= at loop
    v_due := new_spent_at[1] + v_per;
    new_spent_at := new_spent_at[2:];
    new_spent := new_spent[2:];
    v_paid := least(new_owed, greatest(0, max_units - coalesce((select sum(s) from unnest(new_spent) as s), 0)));
    if v_paid > 0 then
      select s.new_spent_at, s.new_spent into new_spent_at, new_spent
        from fairmill.rate_spend(new_spent_at, new_spent, max_units, per_ms, 'window', v_due, v_paid) s;
      new_owed := new_owed - v_paid;
    end if;
  end loop;
  if new_owed > 0 then
    v_paid := least(new_owed, (select r.room from fairmill.rate_room(new_spent_at, new_spent, max_units, per_ms,
      'window', at) r));
    if v_paid > 0 then
      select s.new_spent_at, s.new_spent into new_spent_at, new_spent
        from fairmill.rate_spend(new_spent_at, new_spent, max_units, per_ms, 'window', at, v_paid) s;
      new_owed := new_owed - v_paid;
    end if;
  end if;
  new_owed := nullif(new_owed, 0);
end
$$;
