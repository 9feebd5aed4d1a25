-- Must jobs of these kinds be checked against limits when they are enqueued? Mostly not: one probe of four small
-- indexes says so. In plpgsql, which keeps the plan: a function in SQL is planned again by every enqueue, view and all.
create or replace function fairmill.has_limits_at_enqueue(kinds text[])
returns boolean
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_has_rates boolean;
  v_has_keys  boolean;
begin
  select exists (select from fairmill.limit_setting g where g.rate_at = 'enqueue')
        or exists (select from fairmill.budget b where b.closed_until > now()),
      exists (select from fairmill.key_limit)
        or exists (select from fairmill.key_limit_report t where not t.adopted)
    into v_has_rates, v_has_keys;
  if not v_has_keys or v_has_rates then
    return v_has_rates;
  end if;
  return exists (select from fairmill.key_limit_in_force r where r.kind = any (kinds));
end
$$;
