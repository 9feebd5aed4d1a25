-- Which windows the uses of a job concern, and what it takes of each: a row per window of each of its limits. Units
-- that the limit has no longer are left out; of those that came later it takes nothing, but one request.
--   uses  of the job: [{"limit", "key", "units"}, …]
-- Result: line, limit and key as JSON: where jobs wait for one another; meter, the name of the window's meter; unit,
-- max_units and per_ms of the window; units, what the job takes.
-- Plan expected: a probe of named_limit_order per use.
create or replace function fairmill.meters_of_uses(uses jsonb)
returns table (line text, meter text, unit text, max_units integer, per_ms bigint, units bigint)
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return query
    select jsonb_build_array(u.use -> 'limit', u.use -> 'key')::text,
      jsonb_build_array(u.use -> 'limit', u.use -> 'key', w.own -> 'unit', w.own -> 'n')::text, w.own ->> 'unit',
      (w.own -> 'limit')::integer, (w.own -> 'per_ms')::bigint,
      coalesce((u.use -> 'units' -> (w.own ->> 'unit'))::bigint, case when w.own ->> 'unit' = 'requests' then 1
        else 0 end)
    from jsonb_array_elements(uses) as u (use)
    cross join lateral (select l.windows from fairmill.named_limit l where l.name = u.use ->> 'limit'
      order by l.reported_at desc, l.id desc limit 1) l
    cross join lateral jsonb_array_elements(l.windows) as w (own);
end
$$;
