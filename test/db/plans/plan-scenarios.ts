// What the tables hold when plans are looked at, and what they went through before.
import { FILL_BATCHES } from "./batch-plans.js";

const ANALYZE =
  "analyze fairmill.job, fairmill.job_history, fairmill.worker, fairmill.queue, fairmill.idempotency, fairmill.unique_period, fairmill.limit_setting, fairmill.key_limit, fairmill.key_limit_report, fairmill.meter, fairmill.step, fairmill.account, fairmill.credit_entry, fairmill.credit_pending, fairmill.outbox, fairmill.batch, fairmill.batch_edge, fairmill.batch_hold, fairmill.schedule, fairmill.schedule_tick";

/**
 * Jobs in all states: 50,000 ready, 5,000 scheduled (50 due), 5,000 running at 25 workers (2 of them dead), 10,000 ended. Of limited kinds
 * 1,000 keys, each with a ready and a running job that hold its places and three blocked ones; 20 due, 20 expired; 1,000 put back by a rate.
 * 2,000 schedules, 20 of them due, with ten ticks each, and 100 old ticks.
 * 1,000 accounts with 20 holds each, of which three have ended and are not added up. 20,000 messages that were sent, 200 that worker w3
 * delivers, 500 order keys with one under way and ten behind it, 20 of them marked.
 */
export const fill = (tenants: number) => `
  insert into fairmill.job (kind, queue, tenant, priority, state, payload, expire_at)
  select 'work', case when n % 10 = 0 then 'other' else 'default' end, 't' || n % ${tenants}, n % 3, 'ready', '{}',
    case when n % 1000 = 0 then now() - interval '1 minute' when n % 20 = 0 then now() + interval '1 day' end
  from generate_series(1, 50000) n;
  insert into fairmill.job (kind, queue, tenant, state, aside, payload, run_at)
  select 'work', 'default', 't' || n % ${tenants}, 'scheduled', 'scheduled', '{}', now() + (n - 50) * interval '1 minute' from generate_series(1, 5000) n;
  insert into fairmill.worker (id, queues, lease_until, listening)
  select 'w' || w, '{default}', now() + case when w > 23 then interval '-1 minute' else interval '1 day' end, true from generate_series(1, 25) w;
  insert into fairmill.job (kind, queue, tenant, state, payload, worker, started_at, lease_no, attempt)
  select 'work', 'default', 't' || n, 'running', '{}', 'w' || w, now(), 1, 1 from generate_series(1, 200) n, generate_series(1, 25) w;
  insert into fairmill.key_limit (kind, max_running, when_full) values ('limited', 2, 'wait'), ('refusing', 2, 'refuse');
  insert into fairmill.meter (use, scope, name, used_at)
  select 'start', 'key', '["limited", "default", "k' || n || '"]', now() - n % 3 * interval '1 day' from generate_series(1, 1000) n;
  insert into fairmill.meter (use, scope, name) select 'start', 'tenant', 't' || n from generate_series(1, 1000) n;
  insert into fairmill.job (kind, queue, tenant, key, limit_key, slot, state, aside, payload, worker, started_at, lease_no, attempt, run_at, expire_at)
  select 'limited', 'limited', 'default', 'k' || n, '["limited", "default", "k' || n || '"]', case when s <= 2 then s end,
    case s when 1 then 'ready' when 2 then 'running' when 6 then 'scheduled' else 'blocked' end,
    case when s = 6 then 'scheduled' when s > 2 then 'blocked' end, '{}',
    case when s = 2 then 'w' || 5 + n % 2 * 20 end, case when s = 2 then now() end, 1, 1, case when s = 6 then now() + (n - 20) * interval '1 minute' end,
    case when s = 3 and n <= 20 then now() - interval '1 minute' end
  from generate_series(1, 1000) n, generate_series(1, 6) s;
  insert into fairmill.job (kind, queue, tenant, key, limit_key, state, aside, payload, run_at, rate_limited, rate_limited_times)
  select 'rated', 'default', 'default', 'k', '["rated", "default", "k"]', 'scheduled', 'scheduled', '{}', now() + n * interval '1 minute', true, 1 from generate_series(1, 1000) n;
  insert into fairmill.job (kind, queue, tenant, key, limit_key, state, payload)
  select 'rated', 'rated', 'default', 'k', '["rated", "default", "k"]', 'ready', '{}' from generate_series(1, 100) n;
  insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, created_at, ended_at, payload, worker)
  select nextval('fairmill.job_id_seq'), 1, 0, 1, 0, 3, case when n % 100 = 0 then 'dead' else 'done' end, 'default', 't' || n % 100, 'work', now(), now(), '{}', 'w1'
  from generate_series(1, 10000) n;
  insert into fairmill.job (kind, queue, tenant, state, aside, payload, run_at, unique_key, unique_until)
  select 'work', 'default', 'unique', 'scheduled', 'scheduled', '{}', now() + interval '10 days', 'key ' || n, 'settled' from generate_series(1, 5000) n;
  insert into fairmill.unique_period (tenant, kind, key, job_id, expires_at)
  select 'unique', 'work', 'key ' || n, -n, now() + (n - 100) * interval '1 minute' from generate_series(1, 5000) n;
  insert into fairmill.idempotency (tenant, kind, key, job_id) select 't', 'work', 'key ' || n, n from generate_series(1, 5000) n;
  insert into fairmill.idempotency (tenant, kind, key, job_id, created_at)
  select 't', 'work', 'old key ' || n, -n, now() - interval '40 days' from generate_series(1, 100) n;
  insert into fairmill.worker (id, queues, lease_until, state, ended_at)
  select 'gone ' || w, '{default}', now() - interval '2 days', 'lost', now() - interval '2 days' from generate_series(1, 100) w;
  insert into fairmill.step (job_id, name, kind, position, started_at, finished_at, attempt, lease_no)
  select j.id, 'step ' || n, 'run', n, now(), now(), 1, 1 from fairmill.job j, generate_series(1, 3) n where j.state = 'running';
  insert into fairmill.claim_list (worker, list_no, ids) select worker, 1 + id % 4, array_agg(id) from fairmill.job where state = 'running' group by 1, 2;
  set enable_hashjoin = on;
  update fairmill.meter m set running_ids = coalesce(run.ids, '{}')
  from (select t.name, array_agg(j.id) filter (where j.id is not null) as ids
        from fairmill.meter t left join fairmill.job j on j.tenant = t.name and j.state = 'running' and j.worker > 'w2' where t.scope = 'tenant' group by 1) run
  where m.scope = 'tenant' and m.name = run.name;
  set enable_hashjoin = off;
  insert into fairmill.step (job_id, name, kind, position, started_at, finished_at, attempt, lease_no)
  select -n, 'gone', 'run', 0, now() - interval '40 days', now(), 1, 1 from generate_series(1, 100) n;
  insert into fairmill.queue (name) values ('default'), ('other');
  insert into fairmill.account (name, balance, reserved) select 'a' || n, 1000000, 20 from generate_series(0, 999) n;
  insert into fairmill.credit_entry (id, account, kind, amount, job_id) overriding system value
  select 1000000 + n, 'a' || n % 1000, 'reservation', 1, n from generate_series(0, 19999) n;
  insert into fairmill.credit_entry (id, account, kind, amount, reservation_id, job_id) overriding system value
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

export const SCENARIOS: readonly Scenario[] = [
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
