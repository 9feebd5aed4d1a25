// Named limits and providers for the test of plans: the calls whose plans are looked at.
import type { Call } from "./plan-call.js";

/** A limit, and jobs that use it: ready ones, and a thousand that wait for units. */
const LIMIT = `insert into fairmill.named_limit (name, windows, reported_at)
  values ('openai', '[{"unit": "tokens", "limit": 1000, "per_ms": 60000}]', now());
  update fairmill.job set uses = '[{"limit": "openai", "key": "k", "units": {"tokens": 10}}]'
  where id = any (array(select id from fairmill.job where aside is null and worker is null order by id limit 50)) or worker = 'w3'`;
const USES = `'[{"limit": "openai", "key": "k", "units": {"tokens": 10}}]'::jsonb`;
const PROVIDERS = `select fairmill.define_providers_v1('[{"name": "pixian", "per_second": 20, "in_flight": 5, "timeout_ms": 1000, "breaker_rate": 0.5,
  "breaker_calls": 10, "breaker_window_ms": 1000, "breaker_open_ms": 1000, "currency": "USD"}]', '{"work": [["pixian"]]}')`;
const USERS = "array(select ctid from fairmill.job where id = any ($1))";

export const UNIT_CALLS: Record<string, Call> = {
  adopt_limits: { statement: "select fairmill.adopt_limits()", before: LIMIT, ways: [] },
  change_units: {
    statement: `select fairmill.change_units('[{"limit": "openai", "key": "k", "unit": "tokens", "delta": 5, "started_at": "2026-01-01T00:00:00Z"}]')`,
    before: LIMIT,
    ways: [],
  },
  check_uses: {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [JSON.stringify([{ kind: "work", uses: [{ limit: "openai", key: "k", units: { tokens: 10 } }] }])],
    before: LIMIT,
    ways: [],
  },
  windows_in_force: { statement: "select fairmill.windows_in_force('openai')", before: LIMIT, ways: [] },
  limits_v1: { statement: "select * from fairmill.limits_v1()", before: LIMIT, ways: ["job_waits_for"] },
  meters_of_uses: { statement: `select * from fairmill.meters_of_uses(${USES})`, before: LIMIT, ways: [] },
  pull_waiting: { statement: "select fairmill.pull_waiting()", before: LIMIT, ways: ["job_waits_for"] },
  free_waiting: {
    statement: "select fairmill.free_waiting('openai', 'k')",
    before: LIMIT,
    ways: ["Tid Scan", "job_waits_for"],
  },
  read_used: {
    statement: "select fairmill.read_used('w3', $1, $2, $3)",
    values: ({ ids, leases }) => [ids, leases, JSON.stringify(ids.map(() => ({ used: { openai: { tokens: 5 } } })))],
    before: LIMIT,
    ways: ["job_pkey"],
  },
  spend_units: {
    statement: `select fairmill.spend_units(${USERS}, clock_timestamp())`,
    values: ({ ids }) => [ids],
    before: LIMIT,
    ways: ["Tid Scan"],
  },
  units_of_limits: {
    statement: `select * from fairmill.units_of_limits(${USERS}, clock_timestamp())`,
    values: ({ ids }) => [ids],
    before: LIMIT,
    ways: ["Tid Scan", "job_waits_for backward"],
  },
  why_uses: { statement: `select * from fairmill.why_uses(${USES}, clock_timestamp())`, before: LIMIT, ways: [] },
  end_pauses: {
    statement: "select fairmill.end_pauses()",
    before: `insert into fairmill.limit_setting (scope, name, paused_at, paused_until)
      values ('queue', 'default', now() - interval '2 hours', now() - interval '1 hour')`,
    ways: [],
  },
  define_providers_v1: { statement: PROVIDERS, ways: [] },
  providers_v1: { statement: "select * from fairmill.providers_v1()", before: PROVIDERS, ways: [] },
  closed_kinds: {
    statement: "select * from fairmill.closed_kinds('{work}', clock_timestamp())",
    before: PROVIDERS,
    ways: [],
  },
  sync_provider_v1: {
    statement: `select fairmill.sync_provider_v1('pixian', 'w3', '{"held": 0, "waiting": 1, "wanted": 1, "lead_ms": 5}')`,
    before: PROVIDERS,
    ways: [],
  },
  charge_calls_v1: {
    statement: `select fairmill.charge_calls_v1('[{"id": "00000000-0000-4000-8000-000000000001", "job_id": 1, "provider": "pixian", "tenant": "t", "kind": "work",
      "worker": "w3", "currency": "USD", "cost": 1}]')`,
    before: PROVIDERS,
    ways: [],
  },
  provider_costs_v1: { statement: "select * from fairmill.provider_costs_v1()", before: PROVIDERS, ways: [] },
  "forget_calls without old ones": {
    statement: "select fairmill.forget_calls(now() - interval '1 day', 100)",
    before: PROVIDERS,
    ways: ["job_pkey"],
  },
};
