-- Sets what the calls of a tenant may cost in a day or a month, or changes it.
--   tenant, per, provider, kind, currency  which budget: per is day or month; provider and kind: '', all of them; only
--              costs in this currency count
--   soft       from this amount on an alert is raised, and calls prefer the cheaper providers of their chains; null:
--              never
--   hard       no call begins that would exceed it, and jobs that need a provider are refused or wait; null: never
--   time_zone  whose calendar says when a day or a month begins
-- Result: nothing. A budget that is new, or has another time zone, begins with what is on record of its period
-- (cost_between). Raising one wakes the jobs that it kept.
-- Locks: 30 call record (the sums, for the moment: charges that are under way count here or see the budget), 34 budget
-- (one).
create or replace function fairmill.set_budget_v1(tenant text, per text, soft numeric default null,
  hard numeric default null, provider text default '', kind text default '', currency text default 'USD',
  time_zone text default 'UTC')
returns void
language plpgsql
as $$
#variable_conflict use_variable
declare
  v_was   fairmill.budget;
  v_from  timestamptz;
  v_until timestamptz;
  v_spent numeric;
begin
  if coalesce(per not in ('day', 'month'), true) then
    raise exception 'a budget is of a day or a month, not of "%"', per using errcode = 'FM001';
  end if;
  if coalesce(soft, hard) is null or coalesce(soft <= 0 or soft > hard, false) or coalesce(hard < 0, false)
    or greatest(soft, hard) > 1000000000000 then
    raise exception 'a budget has a soft amount above 0, a hard one of 0 or more, or both; soft is not above hard'
      using errcode = 'FM001', hint = 'Remove it with remove_budget_v1.';
  end if;
  begin
    select p.period_from, p.period_until into v_from, v_until
    from fairmill.budget_period(per, time_zone, now()) p;
  exception when invalid_parameter_value then
    raise exception 'time_zone: "%" is not known', time_zone using errcode = 'FM001', hint = 'Say Europe/Zurich.';
  end;
  lock table fairmill.provider_cost in share row exclusive mode;
  select * into v_was from fairmill.budget b
  where b.tenant = set_budget_v1.tenant and b.per = set_budget_v1.per and b.provider = set_budget_v1.provider
    and b.kind = set_budget_v1.kind and b.currency = set_budget_v1.currency
  for update;
  v_spent := case when found and v_was.time_zone = time_zone and v_was.period_from >= v_from then v_was.spent
    else fairmill.cost_between(tenant, provider, kind, currency, v_from, v_until) end;
  insert into fairmill.budget as b (tenant, per, provider, kind, currency, time_zone, soft, hard, period_from,
    period_until, spent, soft_at, closed_until)
  values (tenant, per, provider, kind, currency, time_zone, soft, hard, v_from, v_until, v_spent,
    case when v_spent >= soft then now() end, case when v_spent >= hard then v_until end)
  on conflict on constraint budget_pkey do update set time_zone = excluded.time_zone, soft = excluded.soft,
    hard = excluded.hard, period_from = excluded.period_from, period_until = excluded.period_until,
    spent = excluded.spent, closed_until = excluded.closed_until, need = null, refused_kinds = '{}',
    soft_at = case when excluded.soft_at is not null then coalesce(b.soft_at, excluded.soft_at) end,
    changed_at = clock_timestamp();
  perform pg_notify('fairmill', '!budget');
end
$$;
