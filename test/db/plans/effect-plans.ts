// Steps, credits, schedules and the outbox for the test of plans: the calls whose plans are looked at.
import type { Call } from "./plan-call.js";

export const STEP_CALLS: Record<string, Call> = {
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
  wait_until: {
    statement: "select fairmill.wait_until($1, 1, '{go}', now())",
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

const ACCOUNTS = "array(select 'a' || n * 7 from generate_series(0, 49) n)";

export const CREDIT_CALLS: Record<string, Call> = {
  lock_accounts: { statement: `select * from fairmill.lock_accounts(${ACCOUNTS})`, ways: [] },
  "store_reservations of an enqueue": {
    statement: "select * from fairmill.enqueue_many_v1($1, partial => true)",
    values: () => [
      JSON.stringify(Array.from({ length: 50 }, (_, n) => ({ kind: "work", account: `a${n * 7}`, amount: 2 }))),
    ],
    ways: [],
  },
  end_reservations: {
    statement:
      "select fairmill.end_reservations(array(select 1010000 + n from generate_series(1, 50) n), array(select 'dead' from generate_series(1, 50)))",
    ways: [],
  },
  balance_v1: { statement: "select * from fairmill.balance_v1('a7')", ways: [] },
  add_up_accounts: { statement: "select fairmill.add_up_accounts(50)", ways: [] },
  "unique_holder of a job": {
    statement: "select fairmill.unique_holder('unique', 'work', 'key 500', false)",
    ways: ["job_unique"],
  },
  "unique_holder of a period": {
    statement: "select fairmill.unique_holder('unique', 'work', 'key 500', true)",
    ways: [],
  },
};

export const SCHEDULE_CALLS: Record<string, Call> = {
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

export const OUTBOX_CALLS: Record<string, Call> = {
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
  record_sends: {
    statement: "select fairmill.record_sends('w3', $1, $2, $3, $4)",
    values: ({ ids, leases }) => [
      ids,
      leases,
      ids.map(() => "retry"),
      JSON.stringify(ids.map(() => ({ delivery: { outcome: "refused" } }))),
    ],
    ways: ["job_pkey"],
  },
  end_sends: {
    statement: "select fairmill.end_sends($1, $2)",
    values: ({ ids }) => [ids.map((id) => 5_000_000 + Number(id)), ids.map(() => "done")],
    ways: [],
  },
  start_next_messages: {
    statement: `select fairmill.start_next_messages(${MANY("default")}, ${MANY("mail")}, ${TURNS})`,
    before: ENDED,
    ways: [],
  },
  recheck_order: { statement: "select * from fairmill.recheck_order(100)", before: ENDED, ways: [] },
  reopen_messages: {
    statement: "select fairmill.reopen_messages((select ids from sent_again))",
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
