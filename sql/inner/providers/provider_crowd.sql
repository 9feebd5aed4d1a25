-- Whether more calls wait for a provider than it takes in about a second: then claims take no further jobs of the kinds
-- that need it for a while, so that no job waits inside its handler for long. Part of sync_provider_v1, under its lock.
-- Result: the row with crowded_until, which is written again when half of its time is over, and with in_flight_before.
create or replace function fairmill.provider_crowd(p fairmill.provider, at timestamptz)
returns fairmill.provider
language plpgsql
as $$
#variable_conflict use_variable
declare
  c_time constant interval := '500 milliseconds';
  v_sums record;
begin
  if p.per_second is null and p.in_flight is null then
    p.crowded_until := null;
    return p;
  end if;
  select coalesce(sum(s.waiting), 0) as waiting, coalesce(sum(s.permits), 0) as permits into v_sums
  from fairmill.provider_share s
  where s.provider = p.name;
  if v_sums.permits <= p.in_flight then
    p.in_flight_before := null;
  end if;
  -- Calls that were given a time to begin wait as well.
  if v_sums.waiting + coalesce(extract(epoch from p.next_start_at - at) * p.per_second, 0)
    > greatest(p.in_flight, ceil(p.per_second), 2) then
    if p.crowded_until is null or p.crowded_until < at + c_time / 2 then
      p.crowded_until := at + c_time;
    end if;
  elsif p.crowded_until <= at or v_sums.waiting = 0 then
    p.crowded_until := null;
  end if;
  return p;
end
$$;
