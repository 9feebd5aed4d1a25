-- Puts calls that cost something on record, and their ends. Repeated, it changes nothing.
--   begun  [{"id", "job_id", "provider", "tenant", "kind", "worker", "currency", "cost"}, …]: calls that are about to
--          begin, with what they are expected to cost
--   ended  [{"id", "state": "paid" | "unknown" | "void", "cost"}, …]: what became of them; void ones cost nothing,
--          without a cost it stays as expected
-- The sums of the day follow in the same transaction: they are always those of the charges.
-- Result: nothing.
-- Locks: 30 call record (charges by id, then sums by their key).
-- Plan expected: probes of the primary keys.
create or replace function fairmill.charge_calls_v1(begun jsonb, ended jsonb default '[]')
returns void
language plpgsql
as $$
#variable_conflict use_column
declare
  v_changes jsonb := '[]';
  v_more    jsonb;
begin
  if jsonb_array_length(begun) > 0 then
    with made as (
      insert into fairmill.provider_charge (id, job_id, provider, tenant, kind, worker, day, currency, cost)
      select c.id, c.job_id, c.provider, c.tenant, c.kind, c.worker, (now() at time zone 'UTC')::date, c.currency,
        c.cost
      from jsonb_to_recordset(begun) as c (id text, job_id bigint, provider text, tenant text, kind text, worker text,
        currency text, cost numeric)
      order by c.id
      on conflict (id) do nothing
      returning day, tenant, provider, kind, currency, cost)
    select coalesce(jsonb_agg(to_jsonb(m) || '{"calls": 1}'), '[]') into v_changes from made m;
  end if;
  if jsonb_array_length(ended) > 0 then
    with known as (
      select c.id, c.cost as expected, e.state,
        case e.state when 'void' then 0 else coalesce(e.cost, c.cost) end as cost
      from (select x.id, x.state, x.cost from jsonb_to_recordset(ended) as x (id text, state text, cost numeric)
            order by x.id) e
      cross join lateral (select x.id, x.cost from fairmill.provider_charge x where x.id = e.id and x.state = 'begun'
                          for update) c),
    done as (
      update fairmill.provider_charge c set state = k.state, cost = k.cost, ended_at = clock_timestamp()
      from known k where c.id = k.id
      returning c.day, c.tenant, c.provider, c.kind, c.currency, k.cost - k.expected as cost,
        case when k.state = 'void' then -1 else 0 end as calls)
    select coalesce(jsonb_agg(to_jsonb(d)), '[]') into v_more from done d;
    v_changes := v_changes || v_more;
  end if;
  insert into fairmill.provider_cost as s (day, tenant, provider, kind, currency, calls, cost)
  select c.day, c.tenant, c.provider, c.kind, c.currency, sum(c.calls), sum(c.cost)
  from jsonb_to_recordset(v_changes) as c (day date, tenant text, provider text, kind text, currency text,
    calls bigint, cost numeric)
  group by c.day, c.tenant, c.provider, c.kind, c.currency
  having sum(c.calls) <> 0 or sum(c.cost) <> 0
  order by c.day, c.tenant collate "C", c.provider collate "C", c.kind collate "C", c.currency collate "C"
  on conflict on constraint provider_cost_pkey do update set calls = s.calls + excluded.calls,
    cost = s.cost + excluded.cost;
end
$$;
