-- The rows of why_v1 about the named limits that a job uses: how much of their windows is used, and when the job fits.
--   uses  of the job;  at: the time
-- Result: as why_v1, a row per limit: of its windows the one that lets the job in last.
-- Plan expected: probes of named_limit_order and meter.
create or replace function fairmill.why_uses(uses jsonb, at timestamptz)
returns table (check_name text, passed boolean, reason text, detail jsonb)
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return query
    select 'limit', w.fits, 'limit ' || (w.line::jsonb ->> 0) || coalesce(' of ' || nullif(w.line::jsonb ->> 1, ''), '')
        || ': ' || fairmill.units_words(w.used) || ' of ' || fairmill.units_words(w.max_units) || ' ' || w.unit
        || ' used' || case when w.left_owed > 0 then ', ' || fairmill.units_words(w.left_owed) || ' owed' else '' end
        || case when w.fits then '' else '; free in '
          || trim(to_char(greatest(0, extract(epoch from w.open_at - at)), '999999990.0')) || ' s' end,
      jsonb_build_object('scope', 'limit', 'name', w.line::jsonb -> 0, 'key', w.line::jsonb -> 1, 'unit', w.unit,
        'asked', w.units, 'used', w.used, 'owed', w.left_owed, 'limit', w.max_units, 'per_ms', w.per_ms,
        'open_at', case when not w.fits then w.open_at end)
    from (
      select distinct on (u.line) u.*, r.used, r.left_owed, r.open_at, r.room >= least(u.units, u.max_units) as fits
      from fairmill.meters_of_uses(uses) u
      left join lateral (
        select x.spent_at, x.spent, x.owed from fairmill.meter x
        where x.use = 'start' and x.scope = 'limit' and x.name = u.meter offset 0) m on true
      cross join lateral fairmill.unit_room(m.spent_at, m.spent, m.owed, u.max_units, u.per_ms, at, u.units) r
      order by u.line, r.room >= least(u.units, u.max_units), r.open_at desc, r.used::float8 / u.max_units desc) w;
end
$$;
