-- Must jobs of these kinds be checked against limits when they are enqueued? Mostly not: one probe of three small
-- indexes says so.
create or replace function fairmill.has_limits_at_enqueue(kinds text[])
returns boolean
language sql stable
as $$
  select exists (select from fairmill.limit_setting g where g.rate_at = 'enqueue')
    or (exists (select from fairmill.key_limit) or exists (select from fairmill.key_limit_report t where not t.adopted))
      and exists (select from fairmill.key_limit_in_force r where r.kind = any (kinds))
$$;
