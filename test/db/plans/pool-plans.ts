// Pools for the test of plans: the calls whose plans are looked at.
import type { Call } from "./plan-call.js";

/** Limits of all scopes, so that the room under each is asked for. */
const LIMITS = `insert into fairmill.limit_setting (scope, name, max_running) select 'tenant', 't' || n, 15 from generate_series(0, 999) n;
  insert into fairmill.limit_setting (scope, name, max_running) values ('queue', 'other', 1000000), ('kind', 'work', 1000000)`;

const POOL = `insert into fairmill.pool (name, settings)
  values ('p', '{"min": 0, "max": 9, "capacity": 10, "target_wait_ms": 1000, "mean_run_ms": 10, "queues": ["default"], "kinds": ["work"]}')`;

const BACKLOG = {
  walks: ["job_blocked", "job_lane", "job_scheduled"],
  ways: ["job_blocked", "job_lane", "job_lane backward", "job_scheduled"],
};

// A lane is a statement whose plan is told: of the queue with 300 lanes, or 3,000. All lanes are looked at where there are no limits.
export const POOL_CALLS: Record<string, Call> = {
  "backlog_v1 without limits": { statement: "select * from fairmill.backlog_v1()", ...BACKLOG },
  "backlog_v1 among a thousand limits": {
    statement: "select * from fairmill.backlog_v1('{other}', '{work}')",
    before: LIMITS,
    ...BACKLOG,
    ways: ["job_blocked", "job_lane", "job_lane backward", "job_pkey", "job_scheduled"],
  },
  "backlog_lanes among a thousand limits": {
    statement: "select * from fairmill.backlog_lanes('{other}', '{work}')",
    before: LIMITS,
    walks: ["job_lane"],
    ways: ["job_lane", "job_lane backward", "job_pkey"],
  },
  "backlog_by_v1 among a thousand limits": {
    statement: "select * from fairmill.backlog_by_v1('{other}', '{work}')",
    before: LIMITS,
    ...BACKLOG,
    ways: ["job_blocked", "job_lane", "job_lane backward", "job_pkey", "job_scheduled"],
  },
  "room_left of a tenant": {
    statement: "select fairmill.room_left('tenant', 't7')",
    before: `${LIMITS}; insert into fairmill.meter (use, scope, name, running_ids) values ('start', 'tenant', 't7', array(select id from fairmill.job where state = 'running' limit 10))
      on conflict (use, scope, name) do update set running_ids = excluded.running_ids`,
    ways: ["job_pkey"],
  },
  desired_workers_v1: { statement: "select fairmill.desired_workers_v1('p')", before: POOL, ...BACKLOG },
  report_pool_v1: {
    statement: `select fairmill.report_pool_v1('p', '{"id": "s", "started_at_ms": 0, "report_every_ms": 1000}', '[]', '{}')`,
    ways: [],
  },
  record_scale_v1: {
    statement: `select fairmill.record_scale_v1('p', 's',
      '{"action": "up", "current": 1, "wanted": 2, "target": 2, "reason": "r", "inputs": {}, "desired": 2, "decide_every_ms": 1000}')`,
    before: POOL,
    ways: [],
  },
  "return_crashed of a settle": {
    statement: "select * from fairmill.settle_v1('w3', $1, $2, $3, $4)",
    values: ({ ids, leases }) => [
      ids,
      leases,
      ids.map(() => "crashed"),
      JSON.stringify(ids.map((_, n) => ({ reason: "killed", crashes_max: n % 2 === 0 ? 3 : 1 }))),
    ],
    ways: ["job_pkey"],
  },
};
