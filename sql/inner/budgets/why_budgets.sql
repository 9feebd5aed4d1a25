-- The budgets of a tenant and kind, as why_v1 reports them: one check; none where no budget has a hard limit.
create or replace function fairmill.why_budgets(tenant text, kind text, at timestamptz)
returns table (check_name text, passed boolean, reason text, detail jsonb)
language plpgsql stable
set timezone = 'UTC'
as $$
#variable_conflict use_column
declare
  v_budget fairmill.budget;
  v_iso    constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
begin
  if not exists (
    select from fairmill.budget b
    where b.tenant = why_budgets.tenant and b.kind in ('', why_budgets.kind) and b.hard is not null) then
    return;
  end if;
  select (c.budget).* into v_budget
  from fairmill.closed_budgets(array[why_budgets.tenant], array[why_budgets.kind], at) c;
  if not found then
    return query select 'budget', true, 'No budget of its tenant keeps it.', null::jsonb;
    return;
  end if;
  return query select 'budget', false,
    'The budget of ' || v_budget.tenant || case v_budget.provider when '' then '' else ' at ' || v_budget.provider end
      || case v_budget.kind when '' then '' else ' for ' || v_budget.kind end || ' for '
      || to_char(v_budget.period_from at time zone v_budget.time_zone,
        case v_budget.per when 'day' then 'FMDD FMMonth YYYY' else 'FMMonth YYYY' end)
      || ' is spent: ' || v_budget.spent || ' of ' || v_budget.hard || ' ' || v_budget.currency
      || case when v_budget.spent < v_budget.hard then ', and the next call needs ' || v_budget.need else '' end
      || '. It goes on at ' || to_char(v_budget.closed_until, v_iso) || ', or when the budget is raised.',
    fairmill.budget_facts(v_budget);
end
$$;
