// All calls whose plans are looked at: those of the core, and where the others stand.
import { BATCH_CALLS } from "./batch-plans.js";
import { BUDGET_CALLS } from "./budget-plans.js";
import { CREDIT_CALLS, OUTBOX_CALLS, SCHEDULE_CALLS, STEP_CALLS } from "./effect-plans.js";
import { INTERVAL_CALLS } from "./interval-plans.js";
import { LIMIT_CALLS } from "./limit-plans.js";
import { OFFLOAD_CALLS } from "./offload-plans.js";
import type { Call } from "./plan-call.js";
import { POOL_CALLS } from "./pool-plans.js";
import { RETENTION_CALLS } from "./retention-plans.js";
import { UNIT_CALLS } from "./unit-plans.js";

const settle = (worker: string, verdicts: readonly string[]): Pick<Call, "statement" | "values"> => ({
  statement: "select * from fairmill.settle_v1($1, $2, $3, $4, $5)",
  values: ({ ids, leases }) => [
    worker,
    ids,
    leases,
    ids.map((_, n) => verdicts[n % verdicts.length]),
    JSON.stringify(ids.map(() => ({ error: { message: "no" }, delay_ms: 5 }))),
  ],
});

const uniqueJobs = (rule: object): string =>
  JSON.stringify(
    Array.from({ length: 20 }, (_, n) => ({ kind: "work", tenant: "unique", unique_key: `key ${n * 500}`, ...rule })),
  );

export const CALLS: Record<string, Call> = {
  ...OUTBOX_CALLS,
  ...SCHEDULE_CALLS,
  ...LIMIT_CALLS,
  ...STEP_CALLS,
  ...CREDIT_CALLS,
  ...BATCH_CALLS,
  ...POOL_CALLS,
  ...INTERVAL_CALLS,
  ...RETENTION_CALLS,
  ...UNIT_CALLS,
  ...BUDGET_CALLS,
  ...OFFLOAD_CALLS,
  "enqueue_many_v1 without keys": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [JSON.stringify(Array.from({ length: 100 }, () => ({ kind: "work" })))],
    ways: [],
  },
  enqueue_payloads_v1: {
    statement: "select * from fairmill.enqueue_payloads_v1($1, $2)",
    values: () => [JSON.stringify(Array.from({ length: 50 }, (_, n) => ({ n }))), '{"kind": "work"}'],
    ways: [],
  },
  enqueue_one_v1: {
    statement: "select fairmill.enqueue_one_v1($1, $2, wake => true)",
    values: () => ["work", '{"n": 1}'],
    ways: [],
  },
  "enqueue_many_v1 with keys, known and new": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [
      JSON.stringify(
        Array.from({ length: 20 }, (_, n) => ({ kind: "work", tenant: "t", idempotency_key: `key ${n * 500}` })),
      ),
    ],
    ways: [],
  },
  "store_unique_jobs with keys, taken and free, kept": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [uniqueJobs({})],
    ways: ["job_unique"],
  },
  "store_unique_jobs with keys, taken and free, replaced": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [uniqueJobs({ on_conflict: "replace" })],
    ways: ["job_pkey", "job_unique"],
  },
  "store_jobs of a plain list": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [JSON.stringify(Array.from({ length: 20 }, () => ({ kind: "work", tenant: "t" })))],
    ways: [],
  },
  "insert_jobs of a plain list": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [JSON.stringify(Array.from({ length: 20 }, () => ({ kind: "work", tenant: "t" })))],
    ways: [],
  },
  "refuse_duplicates of keys that are taken and free": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [uniqueJobs({ on_conflict: "refuse" })],
    ways: ["job_unique"],
  },
  "store_unique_jobs with periods, of others, over and free": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [uniqueJobs({ unique_for_ms: 1_000 })],
    ways: [],
  },
  "lanes_v1 from the start": {
    statement: "select * from fairmill.lanes_v1('default', null, null, 100)",
    ways: ["job_lane backward"],
  },
  "lanes_v1 from a lane on": {
    statement: "select * from fairmill.lanes_v1('default', 1::smallint, 't50', 100)",
    ways: ["job_lane backward"],
  },
  claim_lanes_v1: {
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
    ways: ["Tid Scan", "job_lane", "job_pkey"],
  },
  "record_claim of a worker that keeps no account": {
    statement: "select fairmill.record_claim('w3', null, $1)",
    values: ({ ids }) => [ids],
    before: "update fairmill.claim_list set list_no = -list_no where worker = 'w3'",
    ways: ["job_pkey"],
  },
  "claimed_jobs of one worker": { statement: "select * from fairmill.claimed_jobs('w3')", ways: ["job_pkey"] },
  "claimed_jobs of all": { statement: "select * from fairmill.claimed_jobs(jobs_max => 1000)", ways: ["job_pkey"] },
  "news_v1 with little news": {
    statement: "select * from fairmill.news_v1('{default}', $1)",
    values: ({ newest }) => [Number(newest) - 100],
    ways: ["job_pkey"],
  },
  "news_v1 with more news than it looks at": {
    statement: "select * from fairmill.news_v1('{default}', 10, ids_max => 1000)",
    ways: ["job_pkey"],
  },
  first_ready_v1: {
    statement: "select * from fairmill.first_ready_v1('default', $1, $2, $3, $4)",
    values: () => {
      const lanes = Array.from({ length: 90 }, (_, n) => n);
      return [lanes.map((n) => n % 3), lanes.map((n) => `t${n}`), lanes.map(() => 0), lanes.map(() => 1_000_000)];
    },
    ways: ["job_lane"],
  },
  "end_jobs of a settle": { ...settle("w3", ["done", "dead", "cancelled"]), ways: ["job_pkey"] },
  "settle_v1 of ends": { ...settle("w3", ["done", "dead", "cancelled"]), ways: ["job_pkey"] },
  "settle_v1 of jobs that wait again": { ...settle("w3", ["retry", "snooze", "release"]), ways: ["job_pkey"] },
  "settle_v1 of both": { ...settle("w3", ["done", "retry", "release"]), ways: ["job_pkey"] },
  "settle_v1 by a worker that lost the leases": {
    ...settle("w4", ["done", "retry", "release"]),
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  heartbeat_v1: { statement: "select * from fairmill.heartbeat_v1('w3')", ways: ["job_cancelling"] },
  "promote_v1 with jobs due, some of limited kinds": {
    statement: "select fairmill.promote_v1(100)",
    ways: ["job_blocked", "job_pkey", "job_scheduled", "job_slot"],
  },
  "expire_v1 with jobs that waited too long": {
    statement: "select fairmill.expire_v1(100)",
    ways: ["job_expiring", "job_pkey"],
  },
  "recover_v1 with dead workers": {
    statement: "select * from fairmill.recover_v1(100)",
    ways: ["job_pkey"],
  },
  progress_v1: {
    statement: "select fairmill.progress_v1('w3', $1, $2, $3)",
    values: ({ ids, leases }) => [ids, leases, JSON.stringify(ids)],
    ways: ["job_pkey"],
  },
  release_unknown_v1: {
    statement: "select fairmill.release_unknown_v1('w3', $1)",
    values: ({ ids }) => [ids],
    ways: ["job_pkey"],
  },
  "cancel_v1 of a waiting job": {
    statement: "select fairmill.cancel_v1($1)",
    values: ({ ready }) => [ready],
    ways: ["job_pkey"],
  },
  "cancel_v1 of a running job": {
    statement: "select fairmill.cancel_v1($1)",
    values: ({ ids }) => [ids[0]],
    ways: ["job_pkey"],
  },
  "cancel_v1 of an ended job": {
    statement: "select fairmill.cancel_v1($1)",
    values: ({ dead }) => [dead],
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  "retry_v1 of an ended job": {
    statement: "select fairmill.retry_v1($1)",
    values: ({ dead }) => [dead],
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  "redrive_v1 of the dead": {
    statement: "select * from fairmill.redrive_v1('{}', 50)",
    ways: [],
    historyWays: "indexes on dead and cancelled",
  },
  "redrive_v1 of ids": {
    statement: "select * from fairmill.redrive_v1($1)",
    values: ({ dead }) => [JSON.stringify({ ids: [dead] })],
    // In the plan, as it looks among live jobs for bulk actions; not asked, because no dead job is live.
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  "preview_redrive_v1 of the dead": {
    statement: "select * from fairmill.preview_redrive_v1('{}', 50)",
    ways: [],
    historyWays: "indexes on dead and cancelled",
  },
  "pick_jobs of live jobs": {
    statement: `select * from fairmill.preview_bulk_v1('cancel', '{"kind": "none"}', 20)`,
    ways: ["job_pkey"],
    historyWays: "primary keys",
    walks: ["job_pkey"],
  },
  "pick_jobs of a tag": {
    statement: `select * from fairmill.preview_bulk_v1('rerun', '{"tag": "none"}', 20)`,
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  "pick_jobs of the dead": {
    statement: `select * from fairmill.preview_bulk_v1('redrive', '{}', 20)`,
    ways: ["job_pkey"],
    historyWays: "indexes on dead and cancelled",
  },
  "pick_jobs of ids": {
    statement: "select * from fairmill.preview_bulk_v1('retry', $1)",
    values: ({ dead, ready }) => [JSON.stringify({ ids: [dead, ready] })],
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  "pick_dead of the cancelled": {
    statement: `select * from fairmill.pick_dead('{"state": "cancelled", "kind": "none"}', 50, 50, 0)`,
    ways: [],
    historyWays: "indexes on dead and cancelled",
  },
  revive: {
    statement:
      "select fairmill.revive(array[$1::bigint], array(select ended_at from fairmill.job_history where id = $1))",
    values: ({ dead }) => [dead],
    ways: [],
    historyWays: "primary keys",
  },
  reserve_again: {
    statement: "select fairmill.reserve_again(array[1, 2], array[1, 2], array['nobody'])",
    ways: [],
  },
  rerun_v1: {
    statement: "select * from fairmill.rerun_v1($1)",
    values: ({ dead }) => [dead],
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  "retention with old keys and gone workers": {
    statement: "select fairmill.retention()",
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  append_logs_v1: {
    statement: "select fairmill.append_logs_v1($1)",
    values: ({ ids }) => [
      JSON.stringify(ids.map((job) => ({ job, at: "2026-01-01T00:00:00Z", level: "info", attempt: 1, line: {} }))),
    ],
    ways: [],
  },
  take_cached_v1: { statement: "select fairmill.take_cached_v1('styles', 'all', 'call', 1000)", ways: [] },
  store_cached_v1: { statement: "select fairmill.store_cached_v1('styles', 'all', 'call', '1', 1000, 10)", ways: [] },
  forget_cached_v1: { statement: "select fairmill.forget_cached_v1('styles')", ways: [] },
  "forget_observations with old lines": {
    statement: "select fairmill.forget_observations(now() - interval '1 day', 1000)",
    before: `insert into fairmill.job_log (job_id, at, level, attempt, bytes, line)
      select n, now() - interval '2 days', 'info', 1, 2, '{}' from generate_series(1, 200) n`,
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  levels: { statement: "select * from fairmill.levels()", ways: ["job_lane backward"], walks: ["job_lane"] },
  "why_v1 of a ready job": {
    statement: "select * from fairmill.why_v1($1)",
    values: ({ ready }) => [ready],
    ways: ["job_lane", "job_lane backward", "job_pkey"],
  },
  "why_v1 of an ended job": {
    statement: "select * from fairmill.why_v1($1)",
    values: ({ dead }) => [dead],
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  wake_v1: { statement: "select fairmill.wake_v1('{default,other}', 5)", ways: [] },
  wake_lane_v1: { statement: "select fairmill.wake_lane_v1('default', 0, 'acme')", ways: [] },
};
