// Limits for the test of plans: the calls whose plans are looked at.
import type { Call } from "./plan-call.js";

const GATES = `insert into fairmill.limit_setting (scope, name, max_running, rate_limit, rate_per_ms, rate_how, rate_at)
  select 'tenant', 't' || n, case when n % 2 = 0 then 15 else 1000000 end, 1000000, 1000, 'window', 'start' from generate_series(0, 999) n;
  insert into fairmill.limit_setting (scope, name, max_running) values ('queue', 'default', 1000000), ('kind', 'work', 1000000), ('tenant', 'closed', 0)`;

const RATED =
  "insert into fairmill.key_limit (kind, rate_limit, rate_per_ms, rate_how, rate_at) values ('rated', 5, 60000, 'window', 'start')";

const limitedJobs = (kind: string) => () => [
  JSON.stringify(Array.from({ length: 50 }, (_, n) => ({ kind, key: `k${n * 30}` }))),
];

export const LIMIT_CALLS: Record<string, Call> = {
  "enqueue_many_v1 of a kind whose jobs wait": {
    statement: "select * from fairmill.enqueue_many_v1($1, alone => true)",
    values: limitedJobs("limited"),
    ways: ["job_blocked", "job_slot"],
  },
  "find_limit_keys of a kind whose jobs wait": {
    statement: "select * from fairmill.enqueue_many_v1($1, alone => true)",
    values: limitedJobs("limited"),
    ways: ["job_blocked", "job_slot"],
  },
  "rates_at_enqueue among a thousand limits": {
    statement: `select fairmill.rates_at_enqueue(fairmill.parse_jobs('[{"kind": "work", "tenant": "t1"}, {"kind": "work", "queue": "other", "tenant": "t2"}]', '{}'), false)`,
    before: `${GATES}; update fairmill.limit_setting set rate_at = 'enqueue' where rate_at = 'start'`,
    ways: [],
  },
  "enqueue_many_v1 of a kind that refuses": {
    statement: "select * from fairmill.enqueue_many_v1($1, partial => true)",
    values: limitedJobs("refusing"),
    ways: ["job_slot"],
  },
  lock_meters: {
    statement: "select fairmill.lock_meters('start', 'tenant', array(select 't' || n from generate_series(1, 50) n))",
    ways: [],
  },
  free_slots: {
    statement: `select * from fairmill.free_slots(array(select '["limited", "default", "k' || n || '"]' from generate_series(1, 50) n), 10)`,
    ways: ["job_slot"],
  },
  "admit_blocked with places to give": {
    statement: `select * from fairmill.admit_blocked(array(select '["limited", "default", "k' || n || '"]' from generate_series(1, 50) n))`,
    before:
      "update fairmill.job set slot = null, state = 'scheduled', aside = 'scheduled', run_at = now() where limit_key = any (array(select '[\"limited\", \"default\", \"k' || n || '\"]' from generate_series(1, 50) n)) and state = 'ready'",
    ways: ["Tid Scan", "job_blocked", "job_slot"],
  },
  "admit_freed of single places": {
    statement: `select * from fairmill.admit_freed(array(select '["limited", "default", "k' || n || '"]' from generate_series(1, 20) n))`,
    before:
      "update fairmill.key_limit set max_running = 1; update fairmill.job set slot = null, state = 'scheduled', aside = 'scheduled', run_at = now(), worker = null, started_at = null where limit_key = any (array(select '[\"limited\", \"default\", \"k' || n || '\"]' from generate_series(1, 20) n)) and slot is not null",
    ways: ["Tid Scan", "job_blocked", "job_slot"],
  },
  "settle_v1 of jobs that hold places": {
    statement: "select * from fairmill.settle_v1('w5', $1, $2, $3, $4)",
    values: ({ placed }) => [
      placed,
      placed.map(() => 1),
      placed.map((_, n) => ["done", "retry", "release"][n % 3]),
      JSON.stringify(placed.map(() => ({ error: { message: "no" }, delay_ms: 5 }))),
    ],
    ways: ["Tid Scan", "job_blocked", "job_pkey", "job_slot"],
  },
  promote_rows: { statement: "select * from fairmill.promote_rows(200)", ways: ["job_pkey", "job_scheduled"] },
  expire_rows: { statement: "select * from fairmill.expire_rows(200)", ways: ["job_expiring", "job_pkey"] },
  forget_claim_lists: {
    statement: "select fairmill.forget_claim_lists()",
    before: "update fairmill.worker set state = 'lost' where id in ('w24', 'w25')",
    ways: ["job_pkey"],
  },
  recover_rows: { statement: "select * from fairmill.recover_rows(200, 3)", ways: ["job_pkey"] },
  room_of_limits: {
    statement:
      "select fairmill.room_of_limits('{default}', '{work}', array(select 't' || n from generate_series(0, 99) n), array_fill(1000, array[100]), 1000)",
    before: GATES,
    ways: ["job_pkey"],
  },
  "claim_v1 among a thousand limits": {
    statement: "select * from fairmill.claim_v1('w1', 'other', 100)",
    before: GATES,
    ways: ["Tid Scan", "job_lane", "job_lane backward", "job_pkey"],
  },
  "claim_exceptions_v1 of a few jobs": {
    statement: "select * from fairmill.claim_exceptions_v1('w1', 'default', '{work}', 10)",
    before: `insert into fairmill.pause_exception (job_id, lease_no, queue)
      select id, lease_no, queue from fairmill.job where state = 'ready' and queue = 'default' and kind = 'work' limit 10`,
    ways: ["Tid Scan", "job_pkey"],
  },
  "claim_job_v1 among a thousand limits": {
    statement: "select * from fairmill.claim_job_v1('w1', $1)",
    values: ({ ready }) => [ready],
    before: GATES,
    ways: ["Tid Scan", "job_pkey"],
  },
  "claim_limited with a gate for every lane": {
    statement: "select * from fairmill.claim_lanes_v1('w1', $1, $2, $3, $4, $5, '{work}', 100)",
    values: () => {
      const lanes = Array.from({ length: 90 }, (_, n) => n);
      return [
        lanes.map(() => "default"),
        lanes.map((n) => n % 3),
        lanes.map((n) => `t${n}`),
        lanes.map(() => 0),
        lanes.map(() => 2),
      ];
    },
    before: GATES,
    ways: ["Tid Scan", "job_lane", "job_pkey"],
  },
  "rates_of_keys with jobs that are put back": {
    statement: "select * from fairmill.claim_lanes_v1('w1', '{rated}', '{0}', '{default}', '{0}', '{50}', null, 50)",
    before: RATED,
    // Those of room_of_limits are planned, though there are no limits to count for.
    ways: ["Tid Scan", "job_lane", "job_pkey", "job_rate_limited", "job_rate_limited backward"],
  },
  "lock_meters with meters, known and new": {
    statement: `select fairmill.lock_meters('start', 'key', array(select '["limited", "default", "k' || n || '"]' from generate_series(981, 1020) n order by 1))`,
    ways: [],
  },
  "meter_ctids with meters, known and new": {
    statement: `select fairmill.meter_ctids('start', 'key', array(select '["limited", "default", "k' || n || '"]' from generate_series(981, 1020) n))`,
    ways: [],
  },
  "spend_key_rates with meters, known and new": {
    statement: `select fairmill.spend_key_rates(array(select '["limited", "default", "k' || n || '"]' from generate_series(981, 1020) n order by 1),
      null, 1, 5, 60000, 'window', clock_timestamp())`,
    ways: [],
  },
  list_running_ids: {
    statement: `select fairmill.list_running_ids('{"tenant t1": "{1,2}", "tenant t2": "{3}", "tenant unknown": "{4}"}')`,
    ways: [],
  },
  "count_running with a young cap": {
    statement: "select fairmill.count_running()",
    before: GATES,
    ways: ["job_pkey"],
  },
  "reuse_freed_starts with a thousand that wait": {
    statement: `select fairmill.reuse_freed_starts(array['["rated", "default", "k"]', '["rated", "default", "k"]', '["rated", "default", "nobody"]'],
      array[now() + interval '1 minute', now() + interval '2 minutes', now()])`,
    before: RATED,
    ways: ["Tid Scan", "job_rate_limited backward"],
  },
  "change_key_limits for set_key_limits_v1 of a kind with a thousand keys": {
    statement: `select fairmill.set_key_limits_v1('limited', '{"max_running": 3}')`,
    ways: ["job_blocked"],
  },
  "change_key_limits for set_key_limits_v1 with a new rate, and a thousand put back": {
    statement: `select fairmill.set_key_limits_v1('rated', '{"rate": {"limit": 6, "per_ms": 60000}}')`,
    before: RATED,
    ways: ["Tid Scan", "job_rate_limited"],
  },
  "change_key_limits for set_key_limits_v1 of a kind that refused, with a thousand keys": {
    statement: `select fairmill.set_key_limits_v1('limited', '{"max_running": 2}')`,
    before: `update fairmill.key_limit set when_full = 'refuse' where kind = 'limited';
      update fairmill.job set slot = 3 where kind = 'limited' and state = 'scheduled'`,
    ways: ["Tid Scan", "job_blocked", "job_slot"],
    // It goes along all places of the kind: those of jobs that are ready or run are looked at in vain.
    walks: ["job_slot"],
  },
  "why_v1 of a blocked job, among a thousand limits": {
    before: GATES,
    statement: "select * from fairmill.why_v1($1)",
    values: ({ blocked }) => [blocked],
    ways: ["job_blocked", "job_pkey", "job_slot"],
  },
};
