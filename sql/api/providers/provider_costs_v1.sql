-- What calls cost, in sums, the largest first. Calls that were cut in the middle count as they were expected.
--   since, until  days in UTC, both included; null: today
--   by            what the sums are of: any of day, tenant, provider, kind; the others are null in the result
--   rows_max      at most this many sums, and at most 1000
-- Result: a row for each, and for each currency.
-- Locks: none.
-- Plan expected: a range of the primary key by days.
create or replace function fairmill.provider_costs_v1(since date default null, until date default null,
  by text[] default '{provider}', of_tenant text default null, of_provider text default null,
  of_kind text default null, rows_max integer default 100)
returns table (day date, tenant text, provider text, kind text, currency text, calls bigint, cost numeric)
language plpgsql stable
as $$
#variable_conflict use_column
declare
  v_today date := (now() at time zone 'UTC')::date;
begin
  return query
    select g.day, g.tenant, g.provider, g.kind, g.currency, sum(g.calls)::bigint, sum(g.cost)
    from (
      select case when 'day' = any (by) then c.day end as day,
        case when 'tenant' = any (by) then c.tenant::text end as tenant,
        case when 'provider' = any (by) then c.provider::text end as provider,
        case when 'kind' = any (by) then c.kind::text end as kind, c.currency::text, c.calls, c.cost
      from fairmill.provider_cost c
      where c.day between coalesce(since, v_today) and coalesce(until, v_today)
        and (of_tenant is null or c.tenant = of_tenant) and (of_provider is null or c.provider = of_provider)
        and (of_kind is null or c.kind = of_kind)) g
    group by g.day, g.tenant, g.provider, g.kind, g.currency
    order by 7 desc, 1, 2, 3, 4
    limit least(rows_max, 1000);
end
$$;
