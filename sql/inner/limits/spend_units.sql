-- Takes the units of jobs that a claim starts, of all their windows. Part of claim_limited, under the locks that
-- units_of_limits took, which has seen that there is room.
--   ctids  the jobs;  at: the time of their start
-- A job may ask for more than a window holds, if the limit was lowered since: then what is too much is owed.
-- Locks: none: the caller has 17 key meter.
-- Plan expected: the jobs by their ctids; the meters by their names.
create or replace function fairmill.spend_units(ctids tid[], at timestamptz)
returns void
language plpgsql
as $$
#variable_conflict use_column
begin
  update fairmill.meter m set spent_at = s.new_spent_at, spent = s.new_spent,
    owed = nullif(coalesce(d.new_owed, 0) + own.beyond, 0), used_at = date_trunc('hour', at)
  from (
    select u.meter, u.max_units, u.per_ms, sum(least(u.units, u.max_units))::integer as units,
      sum(greatest(0, u.units - u.max_units))::bigint as beyond
    from fairmill.job j cross join lateral fairmill.meters_of_uses(j.uses) u
    where j.ctid = any (ctids) and j.uses is not null
    group by u.meter, u.max_units, u.per_ms offset 0) own
  cross join lateral (select x.ctid as tid, x.spent_at, x.spent, x.owed from fairmill.meter x where x.use = 'start'
    and x.scope = 'limit' and x.name = own.meter offset 0) was
  cross join lateral fairmill.pay_debt(was.spent_at, was.spent, was.owed, own.max_units, own.per_ms, at) d
  cross join lateral fairmill.rate_spend(d.new_spent_at, d.new_spent, own.max_units, own.per_ms, 'window', at,
    own.units) s
  where m.ctid = was.tid and own.units > 0;
end
$$;
