-- Named limits by name, with their windows as they are in force, and how many jobs wait for their units.
--   after  only names behind this one;  limits_max: at most this many
-- Result: name, windows, reported_at; waiting, counted to 1,000, and waiting_full, whether there may be more.
-- Locks: none.
-- Plan expected: a range of named_limit_order; per limit a range of job_waits_for, to its bound.
create or replace function fairmill.limits_v1(after text default '', limits_max integer default 50)
returns table (name text, windows jsonb, reported_at timestamptz, waiting integer, waiting_full boolean)
language plpgsql stable
set enable_sort = off
as $$
#variable_conflict use_column
begin
  return query
    select l.name,
      (select jsonb_agg(w.own - 'n' order by w.n) from jsonb_array_elements(l.windows) with ordinality as w (own, n)),
      l.reported_at, c.count::integer, c.count >= 1000
    from (
      select distinct on (x.name) x.* from fairmill.named_limit x
      where x.name > limits_v1.after collate "C"
      order by x.name, x.reported_at desc, x.id desc
      limit limits_max) l
    cross join lateral (
      select count(*) as count
      from (
        select from fairmill.job w
        where w.aside = 'scheduled' and w.waits_for >= '[' || to_jsonb(l.name)::text || ','
          and w.waits_for < '[' || to_jsonb(l.name)::text || '-'
        limit 1000) few) c;
end
$$;
