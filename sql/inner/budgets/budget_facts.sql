-- What programs are told of a spent budget.
create or replace function fairmill.budget_facts(budget fairmill.budget)
returns jsonb
language sql stable
as $$
  select jsonb_build_object('tenant', budget.tenant, 'per', budget.per, 'provider', budget.provider,
    'kind', budget.kind, 'currency', budget.currency, 'spent', budget.spent, 'hard', budget.hard,
    'until', budget.period_until)
$$;
