// The plans of the hot statements, whatever the statistics say. A table that is empty at noon and full at one has wrong statistics
// for a while, and a queue that then reads itself from end to end never gets out of it.
import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../support/database.js";
import { BATCH_BOUNDS, BATCH_CALLS, FILL_BATCHES } from "./batch-plans.js";
import {
  all,
  draw,
  explainEverything,
  type Node,
  type Plan,
  plansOf,
  readersOf,
  type Table,
  wayOf,
} from "./plan-reader.js";
import { openSession, type Session } from "./sessions.js";

const ANALYZE =
  "analyze fairmill.job, fairmill.job_history, fairmill.worker, fairmill.queue, fairmill.idempotency, fairmill.unique_period, fairmill.gate, fairmill.key_rule, fairmill.meter, fairmill.step, fairmill.account, fairmill.credit_entry, fairmill.credit_pending, fairmill.outbox, fairmill.batch, fairmill.batch_edge, fairmill.batch_hold, fairmill.schedule, fairmill.schedule_tick";

/**
 * Jobs in all states: 50,000 ready, 5,000 scheduled (50 due), 5,000 running at 25 workers (2 of them dead), 10,000 ended. Of limited kinds
 * 1,000 keys, each with a ready and a running job that hold its places and three blocked ones; 20 due, 20 expired; 1,000 put back by a rate.
 * 1,000 accounts with 20 holds each, of which three have ended and are not added up. 2,000 schedules, 20 of them due, with ten ticks each, and 100 old ticks.
 * 1,000 accounts with 20 holds each, of which three have ended and are not added up. 20,000 messages that were sent, 200 that worker w3
 * delivers, 500 order keys with one under way and ten behind it, 20 of them marked.
 */
const fill = (tenants: number) => `
  insert into fairmill.job (kind, queue, tenant, priority, state, payload, expire_at)
  select 'work', case when n % 10 = 0 then 'other' else 'default' end, 't' || n % ${tenants}, n % 3, 'ready', '{}',
    case when n % 1000 = 0 then now() - interval '1 minute' when n % 20 = 0 then now() + interval '1 day' end
  from generate_series(1, 50000) n;
  insert into fairmill.job (kind, queue, tenant, state, payload, run_at)
  select 'work', 'default', 't' || n % ${tenants}, 'scheduled', '{}', now() + (n - 50) * interval '1 minute' from generate_series(1, 5000) n;
  insert into fairmill.worker (id, queues, lease_until, listening)
  select 'w' || w, '{default}', now() + case when w > 23 then interval '-1 minute' else interval '1 day' end, true from generate_series(1, 25) w;
  insert into fairmill.job (kind, queue, tenant, state, payload, worker, started_at, lease_no, attempt, counted)
  select 'work', 'default', 't' || n, 'running', '{}', 'w' || w, now(), 1, 1, case when w % 2 = 0 then 7 end from generate_series(1, 200) n, generate_series(1, 25) w;
  insert into fairmill.key_rule (kind, max_running, when_full) values ('limited', 2, 'wait'), ('refusing', 2, 'refuse');
  insert into fairmill.meter (use, scope, name, used_at)
  select 'start', 'key', '["limited", "default", "k' || n || '"]', now() - n % 3 * interval '1 day' from generate_series(1, 1000) n;
  insert into fairmill.meter (use, scope, name) select 'start', 'tenant', 't' || n from generate_series(1, 1000) n;
  insert into fairmill.job (kind, queue, tenant, key, limit_key, slot, state, payload, worker, started_at, lease_no, attempt, run_at, expire_at)
  select 'limited', 'limited', 'default', 'k' || n, '["limited", "default", "k' || n || '"]', case when s <= 2 then s end,
    case s when 1 then 'ready' when 2 then 'running' when 6 then 'scheduled' else 'blocked' end, '{}',
    case when s = 2 then 'w' || 5 + n % 2 * 20 end, case when s = 2 then now() end, 1, 1, case when s = 6 then now() + (n - 20) * interval '1 minute' end,
    case when s = 3 and n <= 20 then now() - interval '1 minute' end
  from generate_series(1, 1000) n, generate_series(1, 6) s;
  insert into fairmill.job (kind, queue, tenant, key, limit_key, state, payload, run_at, put_back, throttled)
  select 'rated', 'default', 'default', 'k', '["rated", "default", "k"]', 'scheduled', '{}', now() + n * interval '1 minute', true, 1 from generate_series(1, 1000) n;
  insert into fairmill.job (kind, queue, tenant, key, limit_key, state, payload)
  select 'rated', 'rated', 'default', 'k', '["rated", "default", "k"]', 'ready', '{}' from generate_series(1, 100) n;
  insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, ended_at, payload, worker)
  select nextval('fairmill.job_id_seq'), 1, 0, 1, 0, 3, case when n % 100 = 0 then 'dead' else 'done' end, 'default', 't' || n % 100, 'work', now(), now(), '{}', 'w1'
  from generate_series(1, 10000) n;
  insert into fairmill.job (kind, queue, tenant, state, payload, run_at, unique_key, unique_until)
  select 'work', 'default', 'unique', 'scheduled', '{}', now() + interval '10 days', 'key ' || n, 'settled' from generate_series(1, 5000) n;
  insert into fairmill.unique_period (tenant, kind, key, job_id, expires_at)
  select 'unique', 'work', 'key ' || n, -n, now() + (n - 100) * interval '1 minute' from generate_series(1, 5000) n;
  insert into fairmill.idempotency (tenant, kind, key, job_id) select 't', 'work', 'key ' || n, n from generate_series(1, 5000) n;
  insert into fairmill.idempotency (tenant, kind, key, job_id, created_at)
  select 't', 'work', 'old key ' || n, -n, now() - interval '40 days' from generate_series(1, 100) n;
  insert into fairmill.worker (id, queues, lease_until, state, ended_at)
  select 'gone ' || w, '{default}', now() - interval '2 days', 'lost', now() - interval '2 days' from generate_series(1, 100) w;
  insert into fairmill.step (job_id, name, kind, position, started_at, finished_at, attempt, lease_no)
  select j.id, 'step ' || n, 'run', n, now(), now(), 1, 1 from fairmill.job j, generate_series(1, 3) n where j.state = 'running';
  insert into fairmill.step (job_id, name, kind, position, started_at, finished_at, attempt, lease_no)
  select -n, 'gone', 'run', 0, now() - interval '40 days', now(), 1, 1 from generate_series(1, 100) n;
  insert into fairmill.queue (name) values ('default'), ('other');
  insert into fairmill.account (name, balance, held) select 'a' || n, 1000000, 20 from generate_series(0, 999) n;
  insert into fairmill.credit_entry (id, account, kind, amount, job_id) overriding system value
  select 1000000 + n, 'a' || n % 1000, 'hold', 1, n from generate_series(0, 19999) n;
  insert into fairmill.credit_entry (id, account, kind, amount, hold_id, job_id) overriding system value
  select 2000000 + n, 'a' || n % 1000, 'release', 1, 1000000 + n, n from generate_series(0, 2999) n;
  insert into fairmill.credit_pending (entry_id, account, ended, released) select 2000000 + n, 'a' || n % 1000, 1, 1 from generate_series(0, 2999) n;
  insert into fairmill.schedule (name, cron, timezone, job, fingerprint, next_at)
  select 's' || n, '* * * * *', 'UTC', '{"kind": "work"}', '', now() + (n - 20) * interval '1 minute' from generate_series(1, 2000) n;
  insert into fairmill.schedule_tick (schedule, tick_at, job_id)
  select 's' || n, now() - t * interval '1 minute', n * 10 + t from generate_series(1, 2000) n, generate_series(1, 10) t;
  insert into fairmill.schedule_tick (schedule, tick_at, job_id, made_at) select 'gone', now() - n * interval '1 minute', -n, now() - interval '40 days' from generate_series(1, 100) n;
  insert into fairmill.outbox (tenant, channel, idempotency_key, payload, status, ended_at)
  select 't' || n % 100, 'mail', 'key ' || n, '{}', 'sent', now() - n * interval '3 minutes' from generate_series(1, 20000) n;
  insert into fairmill.outbox (id, tenant, channel, idempotency_key, payload, job_id, status, attempts) overriding system value
  select 5000000 + j.id, 'default', 'mail', 'job ' || j.id, '{}', j.id, 'sending', '[{"worker": "w3", "lease_no": 1}]' from fairmill.job j where j.worker = 'w3';
  update fairmill.job set outbox = 5000000 + id where worker = 'w3';
  insert into fairmill.outbox (tenant, channel, idempotency_key, payload, order_key, job_id, waiting, recheck)
  select 'default', 'mail', 'turn ' || k || ' ' || n, '{}', 'k' || k, case when n = 0 then -k end,
    case when n > 0 then '{"kind": "fairmill.deliver.mail", "queue": "outbox"}'::jsonb end, n = 10 and k <= 20
  from generate_series(0, 10) n, generate_series(1, 500) k;
  ${FILL_BATCHES}`;

interface Scenario {
  readonly name: string;
  /** What the table went through before; the last of it is when the plans are made. */
  readonly before: readonly string[];
  readonly tenants: number;
  readonly after?: string;
}

const SCENARIOS: readonly Scenario[] = [
  { name: "statistics as they should be", before: [], tenants: 1_000, after: ANALYZE },
  { name: "never analyzed", before: [], tenants: 1_000 },
  { name: "planned and analyzed while empty, then filled", before: [ANALYZE], tenants: 1_000 },
  { name: "the same, with the costs of fast disks", before: ["set random_page_cost = 1.1", ANALYZE], tenants: 1_000 },
  {
    name: "the same, with everything in the cache",
    before: ["set random_page_cost = 0.1; set seq_page_cost = 0.1", ANALYZE],
    tenants: 1_000,
  },
  {
    name: "analyzed with one tenant, then 10,000 tenants",
    before: [
      "insert into fairmill.job (kind, queue, tenant, state, payload) select 'work', 'default', 'only', 'ready', '{}' from generate_series(1, 2000)",
      ANALYZE,
    ],
    tenants: 10_000,
  },
  {
    name: "analyzed without a running job",
    before: [
      "insert into fairmill.job (kind, queue, tenant, state, payload) select 'work', 'default', 't' || n, 'ready', '{}' from generate_series(1, 20000) n",
      ANALYZE,
    ],
    tenants: 100,
  },
  {
    name: "analyzed while every job was running",
    before: [
      `insert into fairmill.job (kind, queue, tenant, state, payload, worker, started_at, lease_no, attempt)
       select 'work', 'default', 't' || n % 10, 'running', '{}', 'w1', now(), 1, 1 from generate_series(1, 20000) n`,
      ANALYZE,
      "delete from fairmill.job",
      "vacuum fairmill.job",
    ],
    tenants: 1_000,
  },
];

interface Call {
  readonly statement: string;
  readonly values?: (facts: Facts) => unknown[];
  /** What must be set for it; taken back afterwards. */
  readonly before?: string;
  /** Indexes that it may walk along, for a reason that its header tells. */
  readonly walks?: readonly string[];
  /** The ways into `job` that it takes: all of them, and no other. */
  readonly ways: readonly string[];
  /** The ways into `job_history`: the primary keys of its partitions (or a row by its place), besides these two partial indexes, or none. */
  readonly historyWays?: "primary keys" | "indexes on dead and cancelled";
  /** The ways into the tables of batches; not asked where they are not said. */
  readonly batchWays?: readonly string[];
}

interface Facts {
  /** Jobs that worker w3 runs, with their leases. */
  readonly ids: readonly string[];
  readonly leases: readonly number[];
  /** Jobs of limited kinds that worker w5 runs: each holds a place that others are blocked by. */
  readonly placed: readonly string[];
  readonly ready: string;
  readonly blocked: string;
  readonly dead: string;
  readonly newest: string;
}

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

const GATES = `insert into fairmill.gate (scope, name, max_running, rate_limit, rate_per_ms, rate_how, rate_at)
  select 'tenant', 't' || n, 1000000, 1000000, 1000, 'window', 'start' from generate_series(0, 999) n;
  insert into fairmill.gate (scope, name, max_running) values ('queue', 'default', 1000000), ('kind', 'work', 1000000), ('tenant', 'closed', 0)`;

const RATED =
  "insert into fairmill.key_rule (kind, rate_limit, rate_per_ms, rate_how, rate_at) values ('rated', 5, 60000, 'window', 'start')";

const limitedJobs = (kind: string) => () => [
  JSON.stringify(Array.from({ length: 50 }, (_, n) => ({ kind, key: `k${n * 30}` }))),
];

const STEP_CALLS: Record<string, Call> = {
  store_step_v1: {
    statement: "select * from fairmill.store_step_v1('w3', $1, $2, 'new', 3, '1')",
    values: ({ ids, leases }) => [ids[0], leases[0]],
    ways: ["job_pkey"],
  },
  pause_step_v1: {
    statement: "select * from fairmill.pause_step_v1('w3', $1, $2, 'go', 3, 'wait')",
    values: ({ ids, leases }) => [ids[0], leases[0]],
    ways: ["job_pkey"],
  },
  wait_until_v1: {
    statement: "select fairmill.wait_until_v1($1, 1, '{go}', now())",
    values: ({ ids }) => [ids[0]],
    ways: [],
  },
  signal_v1: {
    statement: "select fairmill.signal_v1($1, 'go', '1', true)",
    values: ({ ids }) => [ids[0]],
    ways: ["job_pkey"],
  },
  forget_steps_v1: {
    statement: "select fairmill.forget_steps_v1($1)",
    values: ({ ready }) => [ready],
    ways: ["job_pkey"],
  },
};

const LIMIT_CALLS: Record<string, Call> = {
  "enqueue_many_v1 of a kind whose jobs wait": {
    statement: "select * from fairmill.enqueue_many_v1($1, alone => true)",
    values: limitedJobs("limited"),
    ways: ["job_blocked", "job_slot"],
  },
  "enqueue_many_v1 of a kind that refuses": {
    statement: "select * from fairmill.enqueue_many_v1($1, partial => true)",
    values: limitedJobs("refusing"),
    ways: ["job_slot"],
  },
  lock_meters_v1: {
    statement:
      "select fairmill.lock_meters_v1('start', 'tenant', array(select 't' || n from generate_series(1, 50) n))",
    ways: [],
  },
  free_places_v1: {
    statement: `select * from fairmill.free_places_v1(array(select '["limited", "default", "k' || n || '"]' from generate_series(1, 50) n), 10)`,
    ways: ["job_slot"],
  },
  "admit_keys_v1 with places to give": {
    statement: `select * from fairmill.admit_keys_v1(array(select '["limited", "default", "k' || n || '"]' from generate_series(1, 50) n))`,
    before:
      "update fairmill.job set slot = null, state = 'scheduled', run_at = now() where limit_key = any (array(select '[\"limited\", \"default\", \"k' || n || '\"]' from generate_series(1, 50) n)) and state = 'ready'",
    ways: ["Tid Scan", "job_blocked", "job_slot"],
  },
  "admit_freed_v1 of single places": {
    statement: `select * from fairmill.admit_freed_v1(array(select '["limited", "default", "k' || n || '"]' from generate_series(1, 20) n))`,
    before:
      "update fairmill.key_rule set max_running = 1; update fairmill.job set slot = null, state = 'scheduled', run_at = now(), worker = null, started_at = null where limit_key = any (array(select '[\"limited\", \"default\", \"k' || n || '\"]' from generate_series(1, 20) n)) and slot is not null",
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
  promote_rows_v1: { statement: "select * from fairmill.promote_rows_v1(200)", ways: ["job_pkey", "job_scheduled"] },
  expire_rows_v1: { statement: "select * from fairmill.expire_rows_v1(200)", ways: ["job_expiring", "job_pkey"] },
  recover_rows_v1: { statement: "select * from fairmill.recover_rows_v1(200, 3)", ways: ["job_pkey", "job_running"] },
  gate_rooms_v1: {
    statement:
      "select fairmill.gate_rooms_v1('{default}', '{work}', array(select 't' || n from generate_series(0, 99) n))",
    before: GATES,
    ways: ["job_running_kind", "job_running_queue", "job_running_tenant"],
  },
  "claim_gated_v1 with a gate for every lane": {
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
    ways: ["Tid Scan", "job_ready", "job_running_kind", "job_running_queue", "job_running_tenant"],
  },
  "key_rates_v1 with jobs that are put back": {
    statement: "select * from fairmill.claim_lanes_v1('w1', '{rated}', '{0}', '{default}', '{0}', '{50}', null, 50)",
    before: RATED,
    // Those of gate_rooms_v1 are planned, though there are no gates to count for.
    ways: [
      "Tid Scan",
      "job_ready",
      "job_running_kind",
      "job_running_queue",
      "job_running_tenant",
      "job_throttled",
      "job_throttled backward",
    ],
  },
  "lock_meters_v1 with meters, known and new": {
    statement: `select fairmill.lock_meters_v1('start', 'key', array(select '["limited", "default", "k' || n || '"]' from generate_series(981, 1020) n order by 1))`,
    ways: [],
  },
  "meter_places_v1 with meters, known and new": {
    statement: `select fairmill.meter_places_v1('start', 'key', array(select '["limited", "default", "k' || n || '"]' from generate_series(981, 1020) n))`,
    ways: [],
  },
  "spend_keys_v1 with meters, known and new": {
    statement: `select fairmill.spend_keys_v1(array(select '["limited", "default", "k' || n || '"]' from generate_series(981, 1020) n order by 1),
      1, 5, 60000, 'window', clock_timestamp())`,
    ways: [],
  },
  "count_running_v1 with a young cap": {
    statement: "select fairmill.count_running_v1()",
    before: GATES,
    ways: ["job_pkey", "job_running"],
    walks: ["job_running"],
  },
  "set_key_rule_v1 of a kind with a thousand keys": {
    statement: `select fairmill.set_key_rule_v1('limited', '{"max_running": 3}')`,
    ways: ["job_blocked"],
  },
  "why_v1 of a blocked job": {
    statement: "select * from fairmill.why_v1($1)",
    values: ({ blocked }) => [blocked],
    ways: ["job_blocked", "job_pkey", "job_running", "job_slot"],
  },
};

const ACCOUNTS = "array(select 'a' || n * 7 from generate_series(0, 49) n)";

const CREDIT_CALLS: Record<string, Call> = {
  lock_accounts_v1: { statement: `select * from fairmill.lock_accounts_v1(${ACCOUNTS})`, ways: [] },
  "store_holds_v1 of an enqueue": {
    statement: "select * from fairmill.enqueue_many_v1($1, partial => true)",
    values: () => [
      JSON.stringify(Array.from({ length: 50 }, (_, n) => ({ kind: "work", account: `a${n * 7}`, amount: 2 }))),
    ],
    ways: [],
  },
  end_holds_v1: {
    statement:
      "select fairmill.end_holds_v1(array(select 1010000 + n from generate_series(1, 50) n), array(select 'dead' from generate_series(1, 50)))",
    ways: [],
  },
  balance_v1: { statement: "select * from fairmill.balance_v1('a7')", ways: [] },
  add_up_accounts_v1: { statement: "select fairmill.add_up_accounts_v1(50)", ways: [] },
  "unique_holder_v1 of a job": {
    statement: "select fairmill.unique_holder_v1('unique', 'work', 'key 500', false)",
    ways: ["job_unique"],
  },
  "unique_holder_v1 of a period": {
    statement: "select fairmill.unique_holder_v1('unique', 'work', 'key 500', true)",
    ways: [],
  },
};

const SCHEDULE_CALLS: Record<string, Call> = {
  "tick_schedule_v1 with ticks, known and new": {
    statement:
      "select * from fairmill.tick_schedule_v1('s7', 1, array(select now() - n * interval '30 seconds' from generate_series(1, 20) n), array(select 0 from generate_series(1, 20)), now() + interval '1 hour')",
    ways: [],
  },
};

const TURNS = "array(select 'k' || n from generate_series(1, 50) n)";
const MANY = (value: string) => `array(select '${value}' from generate_series(1, 50))`;
const ENDED =
  "update fairmill.outbox set status = 'failed', ended_at = now() where order_key is not null and waiting is null and job_id > -51";
const UNKNOWN = `insert into fairmill.outbox (id, tenant, channel, idempotency_key, payload, job_id, status, ended_at) overriding system value
  select 6000000, 'default', 'mail', 'unknown', '{}', min(id), 'unknown', now() from fairmill.job_history where state = 'dead';
  update fairmill.job_history set outbox = 6000000 where id = (select job_id from fairmill.outbox where id = 6000000)`;

const OUTBOX_CALLS: Record<string, Call> = {
  "publish_many_v1 of keys, known and new, in order and not": {
    statement: "select * from fairmill.publish_many_v1($1)",
    values: () => [
      JSON.stringify(
        Array.from({ length: 50 }, (_, n) => ({
          channel: "mail",
          tenant: `t${(n * 500) % 100}`,
          idempotency_key: `key ${n * 500}`,
          order_key: n % 2 ? `k${n}` : undefined,
        })),
      ),
    ],
    ways: [],
  },
  begin_sends_v1: {
    statement: "select * from fairmill.begin_sends_v1('w3', $1, $2)",
    values: ({ ids, leases }) => [ids, leases],
    ways: ["job_pkey"],
  },
  note_sends_v1: {
    statement: "select fairmill.note_sends_v1('w3', $1, $2, $3, $4)",
    values: ({ ids, leases }) => [
      ids,
      leases,
      ids.map(() => "retry"),
      JSON.stringify(ids.map(() => ({ delivery: { outcome: "refused" } }))),
    ],
    ways: ["job_pkey"],
  },
  end_sends_v1: {
    statement: "select fairmill.end_sends_v1($1, $2)",
    values: ({ ids }) => [ids.map((id) => 5_000_000 + Number(id)), ids.map(() => "done")],
    ways: [],
  },
  start_turns_v1: {
    statement: `select fairmill.start_turns_v1(${MANY("default")}, ${MANY("mail")}, ${TURNS})`,
    before: ENDED,
    ways: [],
  },
  recheck_turns_v1: { statement: "select * from fairmill.recheck_turns_v1(100)", before: ENDED, ways: [] },
  send_again_v1: {
    statement: "select fairmill.send_again_v1((select ids from sent_again))",
    before: `${ENDED}; create temp table sent_again as select array(select id from fairmill.outbox where tenant = 'default' and channel = 'mail'
      and idempotency_key = any (array(select 'turn ' || n || ' 0' from generate_series(1, 50) n))) as ids`,
    ways: [],
  },
  resolve_delivery_v1: {
    statement: "select fairmill.resolve_delivery_v1(6000000, 'resend')",
    before: UNKNOWN,
    ways: [],
    historyWays: "primary keys",
  },
};

const CALLS: Record<string, Call> = {
  ...OUTBOX_CALLS,
  ...SCHEDULE_CALLS,
  ...LIMIT_CALLS,
  ...STEP_CALLS,
  ...CREDIT_CALLS,
  ...BATCH_CALLS,
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
  "enqueue_many_v1 with keys, known and new": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [
      JSON.stringify(
        Array.from({ length: 20 }, (_, n) => ({ kind: "work", tenant: "t", idempotency_key: `key ${n * 500}` })),
      ),
    ],
    ways: [],
  },
  "enqueue_unique_v1 with keys, taken and free, kept": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [uniqueJobs({})],
    ways: ["job_unique"],
  },
  "enqueue_unique_v1 with keys, taken and free, replaced": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [uniqueJobs({ on_conflict: "replace" })],
    ways: ["job_pkey", "job_unique"],
  },
  "unique_refusals_v1 of keys that are taken and free": {
    statement: "select fairmill.unique_refusals_v1($1, '{}', null)",
    values: () => [uniqueJobs({ on_conflict: "refuse" })],
    ways: ["job_unique"],
  },
  "enqueue_unique_v1 with periods, of others, over and free": {
    statement: "select * from fairmill.enqueue_many_v1($1)",
    values: () => [uniqueJobs({ unique_for_ms: 1_000 })],
    ways: ["job_unique"],
  },
  "lanes_v1 from the start": {
    statement: "select * from fairmill.lanes_v1('default', null, null, 100)",
    ways: ["job_ready backward"],
  },
  "lanes_v1 from a lane on": {
    statement: "select * from fairmill.lanes_v1('default', 1::smallint, 't50', 100)",
    ways: ["job_ready backward"],
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
    ways: ["Tid Scan", "job_ready"],
  },
  "news_v1 with little news": {
    statement: "select * from fairmill.news_v1('{default}', $1)",
    values: ({ newest }) => [Number(newest) - 100],
    ways: ["job_pkey", "job_pkey backward"],
  },
  "news_v1 with more news than it looks at": {
    statement: "select * from fairmill.news_v1('{default}', 10)",
    ways: ["job_pkey", "job_pkey backward"],
  },
  "settle_v1 of ends": { ...settle("w3", ["done", "dead", "cancelled"]), ways: ["job_pkey"] },
  "settle_v1 of jobs that wait again": { ...settle("w3", ["retry", "snooze", "release"]), ways: ["job_pkey"] },
  "settle_v1 of both": { ...settle("w3", ["done", "retry", "release"]), ways: ["job_pkey"] },
  "settle_v1 by somebody who lost the leases": {
    ...settle("w4", ["done", "retry", "release"]),
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  heartbeat_v1: { statement: "select * from fairmill.heartbeat_v1('w3')", ways: ["job_running"] },
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
    ways: ["job_pkey", "job_running"],
  },
  progress_v1: {
    statement: "select fairmill.progress_v1('w3', $1, $2, $3)",
    values: ({ ids, leases }) => [ids, leases, JSON.stringify(ids)],
    ways: ["job_pkey"],
  },
  release_unknown_v1: {
    statement: "select fairmill.release_unknown_v1('w3', $1)",
    values: ({ ids }) => [ids],
    ways: ["job_pkey", "job_running"],
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
    ways: [],
    historyWays: "primary keys",
  },
  "preview_redrive_v1 of the dead": {
    statement: "select * from fairmill.preview_redrive_v1('{}', 50)",
    ways: [],
    historyWays: "indexes on dead and cancelled",
  },
  "pick_dead_v1 of the cancelled": {
    statement: `select * from fairmill.pick_dead_v1('{"state": "cancelled", "kind": "none"}', 50, 50, 0)`,
    ways: [],
    historyWays: "indexes on dead and cancelled",
  },
  bring_back_v1: {
    statement:
      "select fairmill.bring_back_v1(array[$1::bigint], array(select ended_at from fairmill.job_history where id = $1))",
    values: ({ dead }) => [dead],
    ways: [],
    historyWays: "primary keys",
  },
  rerun_v1: {
    statement: "select * from fairmill.rerun_v1($1)",
    values: ({ dead }) => [dead],
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  "retention_v1 with old keys and gone workers": {
    statement: "select fairmill.retention_v1()",
    ways: ["job_pkey", "job_running"],
    historyWays: "primary keys",
  },
  levels_v1: { statement: "select * from fairmill.levels_v1()", ways: ["job_ready backward"] },
  "why_v1 of a ready job": {
    statement: "select * from fairmill.why_v1($1)",
    values: ({ ready }) => [ready],
    ways: ["job_pkey", "job_ready", "job_ready backward", "job_running"],
  },
  "why_v1 of an ended job": {
    statement: "select * from fairmill.why_v1($1)",
    values: ({ dead }) => [dead],
    ways: ["job_pkey"],
    historyWays: "primary keys",
  },
  wake_v1: { statement: "select fairmill.wake_v1('{default,other}', 5)", ways: [] },
};

/** The first column of each index: a scan that is not bounded by it walks along the whole index, which is a table scan by another name. */
const BOUND: Record<string, RegExp> = {
  job_pkey: /\bid\b/,
  job_ready: /\bqueue\b/,
  job_running: /\bworker [=>]/,
  job_scheduled: /\brun_at <=/,
  job_expiring: /\bexpire_at <=/,
  job_unique: /\btenant = .*\bkind = .*\bunique_key = /,
  job_slot: /\blimit_key =/,
  job_blocked: /\blimit_key =/,
  job_throttled: /\blimit_key =/,
  job_running_tenant: /\btenant =/,
  job_running_queue: /\bqueue =/,
  job_running_kind: /\bkind =/,
  ...BATCH_BOUNDS,
};

/** Without what its subselects looked at: those are nodes of their own. */
const ownBlocks = ({ type, blocks, children }: Node) =>
  type === "Bitmap Heap Scan" ? blocks : blocks - children.reduce((sum, child) => sum + child.blocks, 0);

let serverVersion = 0;

function checkReads(plans: readonly Plan[], table: Table, walks: readonly string[] = []): void {
  for (const plan of plans) {
    const drawing = `${plan.query}\n${draw(plan.root)}`;
    const nodes = readersOf([plan], table);
    for (const node of nodes) {
      expect(node.type, drawing).not.toMatch(/Seq Scan/);
      // One entry off the end of an index needs no bound.
      if (
        (table === "job" || node.index! in BATCH_BOUNDS) &&
        node.index &&
        node.rows > 1 &&
        !walks.includes(node.index)
      )
        expect(node.condition ?? "none", drawing).toMatch(BOUND[node.index]!);
      if (!walks.includes(node.index ?? "")) expect(node.rowsInVain, drawing).toBeLessThanOrEqual(200);
      // A descent a loop and a place in the table a row; an index that is walked along shows here.
      // Before PostgreSQL 17 a list is a descent for each of its members, of which some calls here have 300.
      const descents = node.loops + (serverVersion < 170000 && / ANY /.test(node.condition ?? "") ? 300 : 0);
      if (node.index)
        expect(ownBlocks(node), drawing).toBeLessThanOrEqual(8 * (node.rows + node.rowsInVain + descents + 10));
    }
    for (const join of all(plan.root).filter(({ type }) => /Hash Join|Merge Join/.test(type)))
      expect(readersOf([{ query: plan.query, root: join }], table), drawing).toEqual([]);
  }
}

const BATCH_TABLES = ["batch", "batch_edge", "batch_hold"] as const;
const OTHERS = [
  "job_history",
  "account",
  "credit_entry",
  "credit_pending",
  "outbox",
  "schedule",
  "schedule_tick",
  ...BATCH_TABLES,
] as const satisfies readonly Table[];
const waysInto = (plans: readonly Plan[], table: Table) => [...new Set(readersOf(plans, table).map(wayOf))].toSorted();

describe.each(SCENARIOS)("$name", (scenario) => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let session: Session;
  let facts: Facts;

  beforeAll(async () => {
    database = await freshDatabase();
    session = await openSession(database.url);
    const [server] = await session.query<{ version: number }>(
      "select current_setting('server_version_num')::integer as version",
    );
    serverVersion = server!.version;
    // Nobody puts the statistics right behind the test's back.
    await session.query("alter table fairmill.job set (autovacuum_enabled = off)");
    for (const statement of scenario.before) await session.query(statement);
    await explainEverything(session);
    // A long-lived connection made its plans when the table was like this.
    const nothing: Facts = { ids: ["1"], leases: [1], placed: ["1"], ready: "1", blocked: "1", dead: "1", newest: "1" };
    await session.query(
      "insert into fairmill.worker (id, queues, lease_until) values ('w1', '{default}', now() + interval '1 day')",
    );
    for (const { statement, values, before } of Object.values(CALLS))
      await plansOf(session, statement, values?.(nothing), before);
    await session.query("delete from fairmill.worker");
    await session.query("set auto_explain.log_min_duration = -1");
    await session.query(fill(scenario.tenants));
    if (scenario.after) await session.query(scenario.after);
    await session.query("set auto_explain.log_min_duration = 0");
    const running = await session.query<{ id: string }>(
      "select id from fairmill.job where worker = 'w3' order by id limit 50",
    );
    const placed = await session.query<{ id: string }>(
      "select id from fairmill.job where worker = 'w5' and slot is not null order by id limit 60",
    );
    const [some] = await session.query<{ ready: string; blocked: string; dead: string; newest: string }>(
      `select (select min(id) from fairmill.job where state = 'ready' and kind = 'work') as ready,
        (select min(id) from fairmill.job where state = 'blocked') as blocked,
        (select min(id) from fairmill.job_history where state = 'dead') as dead, (select max(id) from fairmill.job) as newest`,
    );
    facts = {
      ids: running.map(({ id }) => id),
      leases: running.map(() => 1),
      placed: placed.map(({ id }) => id),
      ...some!,
    };
  });
  afterAll(async () => {
    await session?.close();
    await database?.drop();
  });

  test.each(Object.keys(CALLS))("%s reads the job by the expected index and nothing in vain", async (name) => {
    const { statement, values, before, ways, walks, historyWays, batchWays } = CALLS[name]!;
    const plans = await plansOf(session, statement, values?.(facts), before);
    checkReads(plans, "job", walks);
    for (const table of OTHERS) checkReads(plans, table);
    if (batchWays)
      expect(
        BATCH_TABLES.flatMap((table) => waysInto(plans, table)),
        name,
      ).toEqual(batchWays);
    expect(waysInto(plans, "job")).toEqual(ways);
    const history = waysInto(plans, "job_history");
    expect(history.length > 0).toBe(historyWays !== undefined);
    const known =
      historyWays === "primary keys"
        ? /^job_history_(\d{8}|rest)_pkey$|^job_history_rest_age$|^Tid Scan$/
        : /^job_history_(\d{8}|rest)_(pkey|id_idx1?)$|^job_history_rest_age$|^Tid Scan$/;
    expect(history.filter((way) => !known.test(way))).toEqual([]);
  });

  test("tick_upkeep_v1 with nothing due walks along no index to find that out", async () => {
    await session.query("select fairmill.tick_upkeep_v1()");
    const plans = await plansOf(session, "select * from fairmill.tick_upkeep_v1()");
    checkReads(plans, "job");
    checkReads(plans, "job_history");
    // 2,000 schedules, and the first of them is found by one look.
    checkReads(plans, "schedule");
    expect(readersOf(plans, "schedule")).toMatchObject([{ index: "schedule_due", rows: 1 }]);
    checkReads(plans, "outbox");
  });

  test.each([
    "meter_places_v1 with meters, known and new",
    "lock_meters_v1 with meters, known and new",
    "spend_keys_v1 with meters, known and new",
  ])("%s reads no meters but those it was asked for", async (name) => {
    const plans = await plansOf(session, CALLS[name]!.statement);
    const drawn = plans.map(({ root }) => draw(root)).join("\n");
    for (const { type, index, rows, rowsInVain } of readersOf(plans, "meter").filter(({ type }) => type !== "Insert")) {
      expect(type === "Tid Scan" || index === "meter_pkey", drawn).toBe(true);
      expect(rows, drawn).toBeLessThanOrEqual(40);
      expect(rowsInVain, drawn).toBe(0);
    }
  });

  test("settle_v1 deletes by the primary key, driven by the ids it was given", async () => {
    const { statement, values } = CALLS["settle_v1 of ends"]!;
    const plans = await plansOf(session, statement, values!(facts));
    const deleting = plans.find(({ query }) => query.includes("delete from"))!;
    expect(readersOf([deleting], "job")).toMatchObject([
      { type: "Index Scan", index: "job_pkey", loops: 1, rows: facts.ids.length, rowsInVain: 0 },
    ]);
    expect(all(deleting.root).some(({ type }) => type === "Nested Loop")).toBe(false);
  });

  test("claim_lanes_v1 takes one range of job_ready per lane and then the rows by their place", async () => {
    const { statement, values } = CALLS["claim_lanes_v1"]!;
    const [claiming] = (await plansOf(session, statement, values!(facts))).filter(({ query }) =>
      query.includes("skip locked"),
    );
    const readers = readersOf([claiming!], "job");
    const probe = readers.find(({ index }) => index === "job_ready")!;
    expect(probe.condition).toMatch(/queue = .*priority = .*ROW\(tenant, id\) > .*tenant <= /);
    expect(probe.loops).toBeLessThanOrEqual(90);
    expect(readers.find(({ type }) => type === "Tid Scan")).toMatchObject({
      rows: 100,
      rowsInVain: 0,
    });
    expect(all(claiming!.root).some(({ type }) => /Sort/.test(type))).toBe(false);
  });
});

test("every plan that a function's header expects is checked here", async () => {
  const folder = new URL("../../sql/functions/", import.meta.url);
  const names: string[] = [];
  for (const file of await readdir(folder))
    if (/^-- Plan expected:/m.test(await readFile(new URL(file, folder), "utf8"))) names.push(file.replace(".sql", ""));
  expect(names.length).toBeGreaterThan(6);
  const checked = Object.keys(CALLS).map((name) => name.split(" ")[0]);
  expect(names.filter((name) => !checked.includes(name))).toEqual([]);
});
