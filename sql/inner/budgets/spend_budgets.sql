-- Counts what calls cost under the budgets of their tenants, and says which calls find no room. Part of
-- charge_calls_v1, after the charges and their sums.
--   changes  [{"id", "tenant", "provider", "kind", "currency", "cost", "begun_at", "is_new", "need"}, …]: cost, more or
--            less than before; need: what the cheapest call would cost that could take its place
--   enforce  false: every call is counted, whatever there is room for
--  1. Lock the budgets. One whose period is over begins the next.
--  2. Ends first: they may make room. A charge counts in the period in which its call began.
--  3. A new call that one of its budgets has no room for counts under none.
--  4. A budget is spent when nothing is left, or less than the cheapest call needs that found no room. Workers are told
--     when one has room again.
-- Result: by id: {"spent": facts of the budget, "is_parked": claims leave its kind alone from now on} of a call that
-- must not begin; {"soft": true} of one that is beyond a soft threshold. Nothing of the others.
-- Locks: 34 budget (by their key).
-- Plan expected: the budgets of the tenants by a range of the primary key.
create or replace function fairmill.spend_budgets(changes jsonb, enforce boolean)
returns jsonb
language plpgsql
as $$
#variable_conflict use_column
declare
  v_at      constant timestamptz := now();
  v_budgets fairmill.budget[];
  v_was     fairmill.budget[];
  v_period  record;
  v_change  record;
  v_mine    integer[];
  v_short   integer;
  v_answer  jsonb := '{}';
begin
  v_was := array(
    select b from fairmill.budget b
    where b.tenant = any (array(select distinct c ->> 'tenant' from jsonb_array_elements(changes) as c))
    order by b.tenant, b.per, b.provider, b.kind, b.currency for update);
  v_budgets := v_was;
  for i in 1 .. cardinality(v_budgets) loop
    if v_budgets[i].period_until <= v_at then
      select p.* into v_period from fairmill.budget_period(v_budgets[i].per, v_budgets[i].time_zone, v_at) p;
      v_budgets[i].period_from := v_period.period_from;
      v_budgets[i].period_until := v_period.period_until;
      v_budgets[i].spent := 0;
      v_budgets[i].need := null;
      v_budgets[i].refused_kinds := '{}';
      v_budgets[i].soft_at := null;
    end if;
  end loop;

  for v_change in
    select c.* from jsonb_to_recordset(changes) as c (id text, tenant text, provider text, kind text, currency text,
      cost numeric, begun_at timestamptz, is_new boolean, need numeric)
    order by c.is_new, c.id
  loop
    v_mine := array(
      select u.n from unnest(v_budgets) with ordinality as u (tenant, per, provider, kind, currency, time_zone, soft,
        hard, period_from, period_until, spent, need, refused_kinds, soft_at, closed_until, changed_at, n)
      where u.tenant = v_change.tenant and u.currency = v_change.currency and u.provider in ('', v_change.provider)
        and u.kind in ('', v_change.kind) and u.period_from <= v_change.begun_at
      order by u.n);
    v_short := null;
    if enforce and v_change.is_new and v_change.cost > 0 then
      for i in 1 .. cardinality(v_mine) loop
        if v_budgets[v_mine[i]].spent + v_change.cost > v_budgets[v_mine[i]].hard then
          v_short := coalesce(v_short, v_mine[i]);
          -- The calls that could take its place may be of other providers.
          v_budgets[v_mine[i]].need := least(v_budgets[v_mine[i]].need, nullif(
            case v_budgets[v_mine[i]].provider when '' then coalesce(v_change.need, v_change.cost)
              else v_change.cost end, 0));
          if v_change.kind <> all (v_budgets[v_mine[i]].refused_kinds)
            and cardinality(v_budgets[v_mine[i]].refused_kinds) < 100 then
            v_budgets[v_mine[i]].refused_kinds := v_budgets[v_mine[i]].refused_kinds || v_change.kind;
          end if;
        end if;
      end loop;
    end if;
    if v_short is not null then
      v_answer := v_answer || jsonb_build_object(v_change.id, jsonb_build_object(
        'spent', jsonb_build_object('tenant', v_change.tenant, 'per', v_budgets[v_short].per,
          'provider', v_budgets[v_short].provider, 'kind', v_budgets[v_short].kind,
          'currency', v_budgets[v_short].currency, 'spent', v_budgets[v_short].spent, 'hard', v_budgets[v_short].hard,
          'cost', v_change.cost, 'until', v_budgets[v_short].period_until),
        'is_parked', v_budgets[v_short].provider = ''
          and v_budgets[v_short].spent + coalesce(v_budgets[v_short].need, 0) > v_budgets[v_short].hard));
      continue;
    end if;
    for i in 1 .. cardinality(v_mine) loop
      v_budgets[v_mine[i]].spent := greatest(0, v_budgets[v_mine[i]].spent + v_change.cost);
      if v_change.is_new and v_budgets[v_mine[i]].spent >= v_budgets[v_mine[i]].soft then
        v_answer := v_answer || jsonb_build_object(v_change.id, '{"soft": true}'::jsonb);
      end if;
    end loop;
  end loop;

  for i in 1 .. cardinality(v_budgets) loop
    v_budgets[i].closed_until := case
      when v_budgets[i].spent >= v_budgets[i].hard
        or v_budgets[i].spent + v_budgets[i].need > v_budgets[i].hard then v_budgets[i].period_until end;
    v_budgets[i].soft_at := case
      when v_budgets[i].spent >= v_budgets[i].soft then coalesce(v_budgets[i].soft_at, v_at) end;
  end loop;
  update fairmill.budget b
  set period_from = n.period_from, period_until = n.period_until, spent = n.spent, need = n.need,
    refused_kinds = n.refused_kinds, soft_at = n.soft_at, closed_until = n.closed_until
  from unnest(v_budgets) as n
  where b.tenant = n.tenant and b.per = n.per and b.provider = n.provider and b.kind = n.kind
    and b.currency = n.currency and b is distinct from n;
  if exists (
    select from generate_subscripts(v_was, 1) as i
    where v_was[i].closed_until is not null and v_budgets[i].closed_until is null) then
    perform pg_notify('fairmill', '!budget');
  end if;
  return v_answer;
end
$$;
