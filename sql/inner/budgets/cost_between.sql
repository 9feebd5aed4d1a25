-- What calls cost between two times, by what is on record: whole days in UTC from their sums, the hours around them
-- from the charges, as far as these are kept. Part of set_budget_v1, which has kept writers of sums away.
--   provider, kind  '': all
-- Plan expected: a range of the primary key of provider_cost, two of provider_charge_age.
create or replace function fairmill.cost_between(tenant text, provider text, kind text, currency text,
  since timestamptz, until timestamptz)
returns numeric
language plpgsql stable
as $$
#variable_conflict use_variable
declare
  v_days_until constant date := (until at time zone 'UTC')::date;
  v_days_from  constant date := least(v_days_until,
    ((since at time zone 'UTC') + interval '1 day' - interval '1 microsecond')::date);
begin
  return coalesce((
      select sum(c.cost) from fairmill.provider_cost c
      where c.day >= v_days_from and c.day < v_days_until and c.tenant = cost_between.tenant
        and c.currency = cost_between.currency and cost_between.provider in ('', c.provider)
        and cost_between.kind in ('', c.kind)), 0)
    + coalesce((
      select sum(c.cost) from fairmill.provider_charge c
      where c.begun_at >= since and c.begun_at < until
        and (c.begun_at < v_days_from::timestamp at time zone 'UTC'
          or c.begun_at >= v_days_until::timestamp at time zone 'UTC')
        and c.tenant = cost_between.tenant and c.currency = cost_between.currency
        and cost_between.provider in ('', c.provider) and cost_between.kind in ('', c.kind)), 0);
end
$$;
