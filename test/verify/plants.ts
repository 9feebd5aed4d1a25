// For each invariant rows that break it, and no other one: what `verify` has to find. Ids of what it must name, and the SQL.

export interface Plant {
  readonly found: readonly string[];
  readonly sql: string;
}

const live = (id: number, columns: Record<string, string> = {}) => {
  const all = { kind: "'k'", queue: "'q'", tenant: "'t'", state: "'ready'", payload: "'{}'", ...columns };
  return `insert into fairmill.job (id, ${Object.keys(all).join(", ")}) overriding system value values (${id}, ${Object.values(all).join(", ")});`;
};

const ended = (id: number, columns: Record<string, string> = {}) => {
  const all = {
    kind: "'k'",
    queue: "'q'",
    tenant: "'t'",
    state: "'done'",
    payload: "'{}'",
    lease_no: "1",
    priority: "0",
    attempt: "1",
    crashes: "0",
    max_attempts: "3",
    worker: "'w'",
    created_at: "now()",
    ended_at: "now()",
    ...columns,
  };
  return `insert into fairmill.job_history (id, ${Object.keys(all).join(", ")}) values (${id}, ${Object.values(all).join(", ")});`;
};

const batch = (id: number, columns: Record<string, string> = {}) => {
  const all = { root: String(id), state: "'pending'", tenant: "'t'", ...columns };
  return `insert into fairmill.batch (id, ${Object.keys(all).join(", ")}) overriding system value values (${id}, ${Object.values(all).join(", ")});`;
};

const provider = (name: string) =>
  `insert into fairmill.provider (name, in_flight, timeout_ms, breaker_rate, breaker_calls, breaker_window_ms, breaker_open_ms, currency)
   values ('${name}', 2, 1000, 0.5, 10, 1000, 1000, 'USD');`;

const message = (id: number, columns: Record<string, string> = {}) => {
  const all = { tenant: "'t'", channel: "'c'", idempotency_key: `'k${id}'`, payload: "'{}'", ...columns };
  return `insert into fairmill.outbox (id, ${Object.keys(all).join(", ")}) overriding system value values (${id}, ${Object.values(all).join(", ")});`;
};

const entry = (id: number, kind: string, columns: Record<string, string> = {}) => {
  const all = { account: "'a'", amount: "5", ...columns };
  return `insert into fairmill.credit_entry (id, kind, ${Object.keys(all).join(", ")}) overriding system value values (${id}, '${kind}', ${Object.values(all).join(", ")});`;
};

const RUNNING = { state: "'running'", worker: "'w'", started_at: "now()", attempt: "1", lease_no: "1" };
const IN_LIST = "insert into fairmill.claim_list (worker, list_no, ids) values ('w', 1, '{1,2,3,4,5}');";
const GRANTED = `insert into fairmill.account (name, balance, reserved) values ('a', 5, 5); ${entry(1, "grant", { amount: "10" })}`;
const RESERVED = entry(2, "reservation", { job_id: "1" });
const OVER = { state: "'succeeded'", ended_at: "now()" };
const KEY = `'["k","t","x"]'`;
const RULE = "insert into fairmill.key_limit (kind, max_running) values ('k', 1);";
const STARTS = "array[now() - interval '10 seconds', now()], array[2, 2]";

/** By the sentence of the invariant. */
export const PLANTS: Readonly<Record<string, Plant>> = {
  "a job is live or ended, never both": { found: ["1"], sql: live(1) + ended(1) + live(2) + ended(3) },
  "a job has one end": {
    found: ["1"],
    sql: ended(1) + ended(1, { ended_at: "now() + interval '1 second'" }) + ended(2),
  },
  "a running job has a worker, others have none": { found: ["1"], sql: live(1, { worker: "'w'" }) + live(2) },
  "a running job is in a claim list of its worker": {
    found: ["6"],
    sql: `insert into fairmill.worker (id, lease_until) values ('w', now() + interval '1 hour'); ${IN_LIST} ${live(6, RUNNING)} ${live(1, RUNNING)}`,
  },
  "attempts of a live job stay within the allowance": {
    found: ["1"],
    sql: live(1, { attempt: "4", lease_no: "4" }) + live(2, { attempt: "4", crashes: "1", lease_no: "4" }),
  },
  "attempts of an ended job stay within the allowance": { found: ["1"], sql: ended(1, { attempt: "4" }) + ended(2) },
  "every failure of a live job names the lease it happened under, each lease once": {
    found: ["1"],
    sql:
      live(1, { failures: `'[{"lease_no": 1}, {"lease_no": 1}]'` }) +
      live(2, { failures: `'[{"lease_no": 1}, {"lease_no": 2}]'` }),
  },
  "every failure of an ended job names the lease it happened under, each lease once": {
    found: ["1"],
    sql: ended(1, { failures: `'[{"lease_no": 1}, {}]'` }) + ended(2, { failures: `'[{"lease_no": 1}]'` }),
  },
  "a done job has no error": {
    found: ["1"],
    sql: ended(1, { error: "'{}'" }) + ended(2, { state: "'dead'", error: "'{}'" }),
  },
  "a blocked job has another one in its way, or its key is marked to be looked at again": {
    found: ["1"],
    sql: live(1, { state: "'blocked'", aside: "'blocked'", limit_key: KEY }),
  },
  "a slot is held by a job that is ready or running, was rate-limited or replaced by a later one, or is of a kind that refuses":
    {
      found: ["1"],
      sql: live(1, { state: "'scheduled'", aside: "'scheduled'", run_at: "now()", limit_key: KEY, slot: "0" }),
    },
  "no job waits for a signal that is there": {
    found: ["1"],
    sql: `${live(1, { state: "'scheduled'", aside: "'scheduled'", run_at: "now() + interval '1 hour'", lease_no: "7" })}
      insert into fairmill.step (job_id, name, kind, position, signalled_at, started_at, attempt, lease_no) values (1, 's', 'wait', 0, now(), now(), 1, 7);`,
  },
  "no job runs under a lease that has been over for more than a minute": {
    found: ["1"],
    sql: `${IN_LIST} ${live(1, { ...RUNNING, started_at: "now() - interval '1 hour'" })}
      insert into fairmill.worker (id, lease_until) values ('w', now() - interval '2 minutes');`,
  },
  "no more jobs of a key hold a slot than its rule allows": {
    found: ["1", "2"],
    sql: RULE + live(1, { limit_key: KEY, slot: "0" }) + live(2, { limit_key: KEY, slot: "1" }),
  },
  "no more jobs of a tenant, queue or kind run than its cap allows": {
    found: ["tenant t"],
    sql: `insert into fairmill.limit_setting (scope, name, max_running, changed_at) values ('tenant', 't', 1, now() - interval '1 hour');
      insert into fairmill.worker (id, lease_until) values ('w', now() + interval '1 hour');
      insert into fairmill.meter (use, scope, name, running_ids) values ('start', 'tenant', 't', '{1,2}'); ${IN_LIST} ${live(1, RUNNING)} ${live(2, RUNNING)}`,
  },
  "no period of a named limit's window holds more units than it allows": {
    found: ['["openai", "", "tokens", 1]'],
    sql: `insert into fairmill.named_limit (name, windows, reported_at)
        values ('openai', '[{"unit": "tokens", "limit": 100, "per_ms": 60000, "n": 1}]', now() - interval '1 day');
      insert into fairmill.meter (use, scope, name, spent_at, spent)
        values ('start', 'limit', '["openai", "", "tokens", 1]', array[now() - interval '30 s', now()], array[60, 41]);`,
  },
  "a refund is of a job that captured as much": {
    found: ["7"],
    sql: `insert into fairmill.account (name, balance) values ('refunded', 5);
      insert into fairmill.credit_entry (account, kind, amount, job_id, key) values ('refunded', 'refund', 5, 7, 'fairmill.refund 3');`,
  },
  "no period of a tenant's, queue's or kind's rate holds more than it allows": {
    found: ["queue q"],
    sql: `insert into fairmill.limit_setting (scope, name, rate_limit, rate_per_ms, rate_how, rate_at, changed_at)
        values ('queue', 'q', 3, 60000, 'window', 'start', now() - interval '1 day');
      insert into fairmill.meter (use, scope, name, spent_at, spent) values ('start', 'queue', 'q', ${STARTS});`,
  },
  "no period of the rate of a key holds more than it allows, at start": {
    found: ['["k","t","x"]'],
    sql: `insert into fairmill.key_limit (kind, rate_limit, rate_per_ms, rate_how, rate_at) values ('k', 3, 60000, 'window', 'start');
      insert into fairmill.meter (use, scope, name, spent_at, spent) values ('start', 'key', ${KEY}, ${STARTS});`,
  },
  "no period of the rate of a key holds more than it allows, at enqueue": {
    found: ['["k","t","x"]'],
    sql: `insert into fairmill.key_limit (kind, rate_limit, rate_per_ms, rate_how, rate_at) values ('k', 3, 60000, 'window', 'enqueue');
      insert into fairmill.meter (use, scope, name, spent_at, spent) values ('enqueue', 'key', ${KEY}, ${STARTS});`,
  },
  "the reservation of a live job is open": {
    found: ["1"],
    sql: `insert into fairmill.account (name, balance, reserved) values ('a', 5, 0); ${entry(1, "grant", { amount: "10" })}
      ${RESERVED} ${entry(3, "capture", { job_id: "1", reservation_id: "2" })} ${live(1, { reservation: "2" })}`,
  },
  "the reservation of an ended job was captured where it is done, and released otherwise": {
    found: ["1"],
    sql: `insert into fairmill.account (name, balance, reserved) values ('a', 5, 0); ${entry(1, "grant", { amount: "10" })}
      ${RESERVED} ${entry(3, "capture", { job_id: "1", reservation_id: "2" })} ${ended(1, { reservation: "2", state: "'dead'" })}`,
  },
  "an open reservation is that of a live job": { found: ["1"], sql: GRANTED + RESERVED + live(1) },
  "free and reserved of an account are what its entries say, at no entry below zero; ends that wait to be added are real and counted once":
    {
      found: ["a", "b"],
      sql: `insert into fairmill.account (name, balance, reserved) values ('a', 4, 0), ('b', 0, 0);
        ${entry(1, "grant", { account: "'b'" })} ${entry(2, "grant")}`,
    },
  "a message is open exactly while its delivery job is live or it waits for its turn, and the two know each other": {
    found: ["1", "2"],
    sql:
      message(1, { job_id: "9" }) +
      message(2, { status: "'sent'", ended_at: "now()", job_id: "2" }) +
      live(2, { outbox: "2" }),
  },
  "a delivery job is that of a message, which names it": { found: ["1"], sql: live(1, { outbox: "9" }) },
  "a message that was sent is over, and no message was taken twice": {
    found: ["1"],
    sql: message(1, {
      status: "'sent'",
      ended_at: "now()",
      job_id: "9",
      attempts: `'[{"outcome": "sent"}, {"outcome": "sent"}]'`,
    }),
  },
  "of messages in order one is under way": {
    found: ["1", "2"],
    sql: `${message(1, { order_key: "'o'", job_id: "1" })} ${message(2, { order_key: "'o'", job_id: "2" })}
      ${live(1, { outbox: "1" })} ${live(2, { outbox: "2" })}`,
  },
  "a message that waits for its turn is found: by the end of the one before it, or by the mark that it has": {
    found: ["1"],
    sql:
      message(1, { order_key: "'o'", waiting: "'{}'" }) +
      message(2, { order_key: "'p'", waiting: "'{}'", recheck: "true" }),
  },
  "a batch that is over has no live member, nothing inside that is not over, and no hold": {
    found: ["1", "2", "3"],
    sql: `${batch(1, OVER)} ${live(1, { batch: "1" })} ${batch(2, OVER)} ${batch(4, { parent: "2", root: "2", check_at: "now()" })}
      ${batch(3, OVER)} insert into fairmill.batch_hold (batch, until) values (3, now());`,
  },
  "a batch that is not over has a reason, or upkeep looks at it": {
    found: ["1"],
    sql: batch(1) + batch(2, { check_at: "now()" }) + batch(3) + live(1, { batch: "3" }),
  },
  "a node waits for those before it that are not over, as many as it says, or for the node around it": {
    found: ["2"],
    sql: `${batch(1, { role: "'flow'", check_at: "now()" })}
      ${batch(2, { role: "'node'", parent: "1", root: "1", state: "'waiting'", start_when: "'succeeded'", on_failure: "'fail'", waits: "1" })}`,
  },
  "a batch that is over has called back, and one that is not has not succeeded": {
    found: ["1", "2"],
    sql: `${batch(1, { ...OVER, callbacks: `'{"complete": {}}'` })} ${batch(2, { ...OVER, callbacks: `'{"success": {}}'` })}
      ${batch(3, { ...OVER, callbacks: `'{"success": {}}'`, success_job: "7" })}`,
  },
  "a batch counts each member that ended, once": {
    found: ["1"],
    sql: batch(1, { ...OVER, done: "1" }) + batch(2, { ...OVER, done: "1" }) + ended(1, { batch: "2" }),
  },
  "the workers that live have no more calls in flight at a provider than its limit allows, together": {
    found: ["p"],
    sql: `${provider("p")} ${provider("q")}
      insert into fairmill.worker (id, lease_until) values ('pw1', now() + interval '1 h'), ('pw2', now() + interval '1 h'), ('pw3', now());
      insert into fairmill.provider_share (provider, worker, permits) values ('p', 'pw1', 1), ('p', 'pw2', 2), ('q', 'pw1', 2), ('q', 'pw3', 2);`,
  },
  "while a probe of a provider is under way, the provider is closed to all other calls": {
    found: ["p"],
    sql: `${provider("p")} ${provider("q")}
      update fairmill.provider set breaker = 'half-open', probe_worker = 'w', probe_until = now() + interval '1 h', closed_why = 'breaker',
        closed_until = case name when 'p' then now() else now() + interval '1 h' end;`,
  },
  "what calls cost on a day is the sum of the charges of that day, where all of them are still kept": {
    found: [`${new Date().toISOString().slice(0, 10)} t p`],
    sql: `insert into fairmill.provider_cost (day, tenant, provider, kind, currency, calls, cost)
        select (now() at time zone 'UTC')::date, 't', name, 'k', 'USD', 1, 2 from (values ('p'), ('q')) as v (name);
      insert into fairmill.provider_charge (id, job_id, provider, tenant, kind, worker, day, currency, cost)
        select name, 1, name, 't', 'k', 'w', (now() at time zone 'UTC')::date, 'USD', cost from (values ('p', 1), ('q', 2)) as v (name, cost);`,
  },
};
