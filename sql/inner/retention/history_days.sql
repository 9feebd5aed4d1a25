-- The partitions of the history with the days that they cover; of the rest partition -infinity and infinity.
-- Locks: none.
create or replace function fairmill.history_days(out part text, out since timestamptz, out until timestamptz)
returns setof record
language sql stable
set timezone = 'UTC'
as $$
  select c.relname::text,
    case when c.relname ~ '\d{8}$' then to_date(right(c.relname, 8), 'YYYYMMDD')::timestamptz else '-infinity' end,
    case when c.relname ~ '\d{8}$' then (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamptz else 'infinity' end
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'fairmill.job_history'::regclass and c.relname ~ '^job_history_(\d{8}|rest)$'
  order by 1
$$;
