-- Takes a budget away: nothing is refused or kept on its account any more. What was spent stays on record.
--   tenant, per, provider, kind, currency  which: as set_budget_v1
-- Result: false: there is no such budget.
-- Locks: 34 budget (one).
create or replace function fairmill.remove_budget_v1(tenant text, per text, provider text default '',
  kind text default '', currency text default 'USD')
returns boolean
language plpgsql
as $$
#variable_conflict use_column
begin
  delete from fairmill.budget b
  where b.tenant = remove_budget_v1.tenant and b.per = remove_budget_v1.per
    and b.provider = remove_budget_v1.provider and b.kind = remove_budget_v1.kind
    and b.currency = remove_budget_v1.currency;
  if not found then
    return false;
  end if;
  perform pg_notify('fairmill', '!budget');
  return true;
end
$$;
