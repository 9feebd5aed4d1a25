-- Puts calls that cost something on record, and their ends; and says which of them must not begin, because a budget has
-- no room for them. Repeating it changes nothing.
--   begun    [{"id", "job_id", "provider", "tenant", "kind", "worker", "currency", "cost", "need"}, …]: calls that are
--            about to begin, with what they are expected to cost; need: what the cheapest call would cost that could
--            take its place, unless it is this one
--   ended    [{"id", "state": "paid" | "unknown" | "void", "cost"}, …]: what became of them; void ones cost nothing,
--            without a cost it stays as expected
--   enforce  false: budgets are counted, and refuse nothing
-- The sums of the day and of budgets change in the same transaction: they always match the charges.
-- Result: by id, of the calls of which a budget has something to say: see spend_budgets. A call that must not begin has
-- no charge.
-- Locks: 30 call record (charges by id, then sums by their key), 34 budget (by their key).
-- Plan expected: probes of the primary keys.
create or replace function fairmill.charge_calls_v1(begun jsonb, ended jsonb default '[]', enforce boolean default true)
returns jsonb
language plpgsql
as $$
#variable_conflict use_column
declare
  v_changes jsonb := '[]';
  v_more    jsonb;
  v_answer  jsonb := '{}';
  v_refused text[];
begin
  if jsonb_array_length(begun) > 0 then
    with given as (
      select c.* from jsonb_to_recordset(begun) as c (id text, job_id bigint, provider text, tenant text, kind text,
        worker text, currency text, cost numeric, need numeric)),
    made as (
      insert into fairmill.provider_charge (id, job_id, provider, tenant, kind, worker, day, currency, cost, begun_at)
      -- One clock for the day, for the periods of budgets and for the record.
      select c.id, c.job_id, c.provider, c.tenant, c.kind, c.worker, (now() at time zone 'UTC')::date, c.currency,
        c.cost, now()
      from given c
      order by c.id
      on conflict (id) do nothing
      returning id, day, tenant, provider, kind, currency, cost, begun_at)
    select coalesce(jsonb_agg(to_jsonb(m) || jsonb_build_object('calls', 1, 'is_new', true, 'need', g.need)), '[]')
      into v_changes
    from made m
    join given g on g.id = m.id;
  end if;
  if jsonb_array_length(ended) > 0 then
    with known as (
      select c.id, c.cost as expected, e.state,
        case e.state when 'void' then 0 else coalesce(e.cost, c.cost) end as cost
      from (
        select x.id, x.state, x.cost from jsonb_to_recordset(ended) as x (id text, state text, cost numeric)
        order by x.id) e
      cross join lateral (
        select x.id, x.cost from fairmill.provider_charge x
        where x.id = e.id and x.state = 'begun' for update) c),
    done as (
      update fairmill.provider_charge c set state = k.state, cost = k.cost, ended_at = clock_timestamp()
      from known k
      where c.id = k.id
      returning c.id, c.day, c.tenant, c.provider, c.kind, c.currency, k.cost - k.expected as cost, c.begun_at,
        case when k.state = 'void' then -1 else 0 end as calls, false as is_new)
    select coalesce(jsonb_agg(to_jsonb(d)), '[]') into v_more from done d;
    v_changes := v_changes || v_more;
  end if;
  perform fairmill.add_costs(v_changes, 1);
  -- Asked after the sums: a budget that is made meanwhile has counted these calls, or is seen here (set_budget_v1).
  if v_changes <> '[]' and exists (select from fairmill.budget) then
    v_answer := fairmill.spend_budgets(v_changes, enforce);
    v_refused := array(select a.id from jsonb_each(v_answer) as a (id, says) where a.says ? 'spent');
    if cardinality(v_refused) > 0 then
      perform fairmill.add_costs((
        select jsonb_agg(c) from jsonb_array_elements(v_changes) as c where c ->> 'id' = any (v_refused)), -1);
      delete from fairmill.provider_charge c where c.id = any (v_refused);
    end if;
  end if;
  return v_answer;
end
$$;
