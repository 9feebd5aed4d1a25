-- Budgets as they stand, by tenant.
--   of_tenant  null: all;  after: only budgets behind this one, as [tenant, per, provider, kind, currency];
--   rows_max   at most this many, and at most 1000
-- Result: settings; the current period; what was spent in it (calls that are under way count as expected); state:
--   within, soft (at its soft threshold), spent (jobs that need a provider are refused or wait); soft_at: since when it
--   is soft.
-- Locks: none.
-- Plan expected: a range of the primary key.
create or replace function fairmill.budgets_v1(of_tenant text default null, after text[] default null,
  rows_max integer default 100)
returns table (tenant text, per text, provider text, kind text, currency text, time_zone text, soft numeric,
  hard numeric, period_from timestamptz, period_until timestamptz, spent numeric, state text, soft_at timestamptz)
language plpgsql stable
as $$
#variable_conflict use_column
begin
  return query
    select b.tenant::text, b.per::text, b.provider::text, b.kind::text, b.currency::text, b.time_zone, b.soft, b.hard,
      p.period_from, p.period_until, s.spent,
      -- A period that has just begun has nothing on record until the first call of it.
      case when b.closed_until > now() or s.spent >= b.hard then 'spent'
        when s.spent >= b.soft then 'soft' else 'within' end,
      case when s.spent >= b.soft then b.soft_at end
    from fairmill.budget b
    cross join lateral fairmill.budget_period(b.per, b.time_zone, now()) p
    cross join lateral (select case when b.period_until > now() then b.spent else 0 end as spent) s
    where (of_tenant is null or b.tenant = of_tenant)
      and (after is null
        or (b.tenant, b.per, b.provider, b.kind, b.currency) > (after[1], after[2], after[3], after[4], after[5]))
    order by b.tenant, b.per, b.provider, b.kind, b.currency
    limit least(rows_max, 1000);
end
$$;
