// Budgets, ends of messages and places of ticks for the test of plans: the calls whose plans are looked at.
import type { Call } from "./plan-call.js";

/** Five hundred tenants with a budget, one of them spent, and what their calls cost. */
const BUDGETS = `insert into fairmill.budget (tenant, per, hard, period_from, period_until, spent, closed_until)
  select 't' || n, 'day', 10, date_trunc('day', now()), date_trunc('day', now()) + interval '1 day', case n when 7 then 10 else 0 end,
    case n when 7 then date_trunc('day', now()) + interval '1 day' end
  from generate_series(1, 500) n`;
const CHANGE = `'[{"id": "a", "tenant": "t3", "provider": "pixian", "kind": "work", "currency": "USD", "cost": 1, "begun_at": "2100-01-01T00:00:00Z", "is_new": true}]'`;

export const BUDGET_CALLS: Record<string, Call> = {
  budgets_v1: { statement: "select * from fairmill.budgets_v1('t3')", before: BUDGETS, ways: [] },
  closed_budgets: {
    statement: "select * from fairmill.closed_budgets('{t3,t7}', '{work}', now())",
    before: BUDGETS,
    ways: [],
  },
  cost_between: {
    statement: "select fairmill.cost_between('t3', '', '', 'USD', now() - interval '30 days', now())",
    before: BUDGETS,
    ways: [],
  },
  lanes_of_spent: {
    statement: `select fairmill.lanes_of_spent('{"t7": ["none"]}', '{default}', '{0}', '{t7}')`,
    before: BUDGETS,
    walks: ["job_lane"],
    ways: ["job_lane"],
  },
  spend_budgets: { statement: `select fairmill.spend_budgets(${CHANGE}, true)`, before: BUDGETS, ways: [] },
  "charge_calls_v1 with budgets": {
    statement: `select fairmill.charge_calls_v1('[{"id": "00000000-0000-4000-8000-000000000001", "job_id": 1, "provider": "pixian", "tenant": "t3", "kind": "work",
      "worker": "w3", "currency": "USD", "cost": 1}]')`,
    before: BUDGETS,
    ways: [],
  },
  enqueue_ends: {
    statement: "select fairmill.enqueue_ends(array(select id from fairmill.outbox order by id limit 20))",
    before: `insert into fairmill.channel_end (channel, job) select distinct o.channel, '{"kind": "work"}'::jsonb from fairmill.outbox o`,
    ways: [],
  },
  end_lost_children: { statement: "select fairmill.end_lost_children()", ways: [] },
  take_tick_slot_v1: { statement: "select fairmill.take_tick_slot_v1('h', 'w', 4, interval '1 minute')", ways: [] },
};
