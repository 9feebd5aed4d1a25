// The SQL functions as the tests call them: one short call a function, plain SQL underneath, and a look at the rows afterwards.
import type pg from "pg";

/** Whatever answers a question with rows: the test's database, or a session of its own. */
export interface Asker {
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
}

export interface NewRow {
  readonly [field: string]: unknown;
}

export interface Stored {
  readonly id: string;
  readonly created: boolean;
}

export interface Met extends Stored {
  readonly conflict: "known" | "kept" | "replaced" | null;
}

export interface Claimed extends pg.QueryResultRow {
  readonly id: string;
  readonly lease_no: string;
  readonly kind: string;
  readonly key: string | null;
  readonly attempt: number;
  readonly crashes: number;
  readonly max_attempts: number;
  readonly payload: unknown;
}

export interface Lane {
  readonly tenant: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly floor?: string;
  readonly quantum?: number;
}

export type VerdictName = "done" | "dead" | "cancelled" | "retry" | "snooze" | "release";

export interface Settled {
  readonly accepted: number;
  readonly refused: readonly string[];
}

export const VERDICTS: readonly VerdictName[] = ["done", "dead", "cancelled", "retry", "snooze", "release"];

export const enqueue = (ask: Asker, jobs: readonly NewRow[], shared: NewRow = {}): Promise<Stored[]> =>
  ask.query<{ id: string; created: boolean }>("select id, created from fairmill.enqueue_many_v1($1, $2)", [
    JSON.stringify(jobs),
    JSON.stringify(shared),
  ]);

/** The same, with the reason why a job was not made. */
export const enqueueUnique = (ask: Asker, jobs: readonly NewRow[], shared: NewRow = {}): Promise<Met[]> =>
  ask.query<Met & pg.QueryResultRow>("select id, created, conflict from fairmill.enqueue_many_v1($1, $2)", [
    JSON.stringify(jobs),
    JSON.stringify(shared),
  ]);

/** Blocks a job as a limit would that upkeep has not looked at yet: for tests of what comes after it. */
export const block = (ask: Asker, id: string): Promise<unknown> =>
  ask.query(
    `with mark as (insert into fairmill.meter (use, scope, name, recheck) values ('start', 'key', '["none"]', true) on conflict do nothing)
     update fairmill.job set state = 'blocked', aside = 'blocked', limit_key = '["none"]' where id = $1`,
    [id],
  );

/** One job; returns its id. */
export const enqueueOne = async (ask: Asker, job: NewRow = {}): Promise<string> =>
  (await enqueue(ask, [{ kind: "work", ...job }]))[0]!.id;

/** Many ready jobs at once, past the enqueue: for tests of what comes after it. */
export async function fill(
  ask: Asker,
  count: number,
  job: { tenant?: string; queue?: string; priority?: number; kind?: string } = {},
): Promise<void> {
  await ask.query(
    `insert into fairmill.job (kind, queue, tenant, priority, state, payload)
     select $1, $2, $3, $4, 'ready', '{}' from generate_series(1, $5)`,
    [job.kind ?? "work", job.queue ?? "default", job.tenant ?? "default", job.priority ?? 0, count],
  );
}

/** Ready jobs of many tenants, `jobsEach` of each, in turn. */
export async function fillTenants(ask: Asker, tenants: number, jobsEach: number): Promise<void> {
  await ask.query(
    `insert into fairmill.job (kind, queue, tenant, state, payload)
     select 'work', 'default', 't' || t, 'ready', '{}' from generate_series(1, $1) n, generate_series(1, $2) t order by n, t`,
    [jobsEach, tenants],
  );
}

export async function register(ask: Asker, worker: string, lease = "1 hour"): Promise<string> {
  await ask.query("select fairmill.register_v1($1, '{default}', $2)", [worker, lease]);
  return worker;
}

export const claim = (
  ask: Asker,
  worker: string,
  jobsMax = 1,
  options: { queue?: string; tenantMax?: number; kinds?: readonly string[] } = {},
): Promise<Claimed[]> =>
  ask.query<Claimed>("select * from fairmill.claim_v1($1, $2, $3, $4, $5)", [
    worker,
    options.queue ?? "default",
    jobsMax,
    options.tenantMax ?? 25,
    options.kinds ?? null,
  ]);

/** Claims along lanes. A worker that the test has not registered is registered on the way: most tests do not care which it is. */
export async function claimLanes(
  ask: Asker,
  worker: string,
  lanes: readonly Lane[],
  jobsMax: number,
  kinds: readonly string[] | null = null,
): Promise<Claimed[]> {
  await ask.query(
    "insert into fairmill.worker (id, queues, lease_until) values ($1, '{default}', now() + interval '1 hour') on conflict do nothing",
    [worker],
  );
  return ask.query<Claimed>("select * from fairmill.claim_lanes_v1($1, $2, $3, $4, $5, $6, $7, $8)", [
    worker,
    lanes.map((lane) => lane.queue ?? "default"),
    lanes.map((lane) => lane.priority ?? 0),
    lanes.map((lane) => lane.tenant),
    lanes.map((lane) => lane.floor ?? "0"),
    lanes.map((lane) => lane.quantum ?? jobsMax),
    kinds,
    jobsMax,
  ]);
}

export async function settle(
  ask: Asker,
  worker: string | null,
  jobs: readonly { readonly id: string; readonly lease_no: string }[],
  verdicts: VerdictName | readonly string[],
  details: readonly unknown[] | null = null,
): Promise<Settled> {
  const [row] = await ask.query<{ accepted: number; refused: string[] }>(
    "select accepted, refused from fairmill.settle_v1($1, $2, $3, $4, $5)",
    [
      worker,
      jobs.map((job) => job.id),
      jobs.map((job) => job.lease_no),
      typeof verdicts === "string" ? jobs.map(() => verdicts) : verdicts,
      details && JSON.stringify(details),
    ],
  );
  return row!;
}

export interface Row extends pg.QueryResultRow {
  id: string;
  state: string;
  lease_no: string;
  attempt: number;
  crashes: number;
  worker: string | null;
  queue: string;
  tenant: string;
  created_at: Date;
  run_at: Date | null;
  expire_at: Date | null;
  started_at: Date | null;
  ended_at?: Date;
  cancel_requested_at?: Date | null;
  progress: unknown;
  failures: { attempt: number; lease_no: number; worker: string; outcome: string; error: unknown }[] | null;
  result?: unknown;
  error?: unknown;
}

/** The job in the queue, or undefined. */
export const live = async (ask: Asker, id: string): Promise<Row | undefined> =>
  (await ask.query<Row>("select * from fairmill.job where id = $1", [id]))[0];

/** The job in the history, or undefined. */
export const ended = async (ask: Asker, id: string): Promise<Row | undefined> =>
  (await ask.query<Row>("select * from fairmill.job_history where id = $1", [id]))[0];

/** How many of these jobs each tenant has, by name. */
export async function byTenant(ask: Asker, jobs: readonly { readonly id: string }[]): Promise<Record<string, number>> {
  const rows = await ask.query<{ tenant: string; n: number }>(
    "select tenant, count(*)::integer as n from fairmill.job where id = any ($1) group by 1 order by 1",
    [jobs.map(({ id }) => id)],
  );
  return Object.fromEntries(rows.map(({ tenant, n }) => [tenant, n]));
}

/** The table in which an ended job lies. */
export const partitionOf = async (ask: Asker, id: string): Promise<string | undefined> =>
  (
    await ask.query<{ name: string }>(
      "select c.relname as name from fairmill.job_history h join pg_class c on c.oid = h.tableoid where h.id = $1",
      [id],
    )
  )[0]?.name;

/** Everything that a job has left anywhere, to be compared with itself later. */
export const traces = async (ask: Asker): Promise<unknown> =>
  ask.query(
    `select to_jsonb(j) as row from fairmill.job j union all select to_jsonb(h) from fairmill.job_history h
     union all select to_jsonb(q) from fairmill.queue q union all select to_jsonb(i) from fairmill.idempotency i order by 1`,
  );

/** The rescan mark of a queue. */
export const rescanNo = async (ask: Asker, queue = "default"): Promise<number> =>
  Number(
    (await ask.query<{ rescan_no: string }>("select rescan_no from fairmill.queue where name = $1", [queue]))[0]
      ?.rescan_no ?? 0,
  );

/** The worker's lease is over: it died, or was silent for too long. */
export const endLease = (ask: Asker, worker: string): Promise<unknown> =>
  ask.query("update fairmill.worker set lease_until = clock_timestamp() - interval '1 second' where id = $1", [worker]);

export async function recover(
  ask: Asker,
  jobsMax = 1000,
  crashesMax = 3,
): Promise<{ recovered: number; ended: number }> {
  const [row] = await ask.query<{ recovered: number; ended: number }>("select * from fairmill.recover_v1($1, $2)", [
    jobsMax,
    crashesMax,
  ]);
  return row!;
}

/** A function that answers with one value. */
export async function call<T>(ask: Asker, expression: string, values: unknown[] = []): Promise<T> {
  const [row] = await ask.query<{ answer: T }>(`select fairmill.${expression} as answer`, values);
  return row!.answer;
}

/** Says what limits the keys of a kind have: {per, max_running, when_full, rate}; null: none. */
export const setRule = (ask: Asker, rule: NewRow | null, kind = "limited"): Promise<unknown> =>
  ask.query("select fairmill.set_key_limits_v1($1, $2)", [kind, JSON.stringify(rule)]);

/** Settings of a queue, a kind or a tenant: {weight, max_running, rate, paused}. */
export const setLimits = (
  ask: Asker,
  scope: "queue" | "kind" | "tenant",
  name: string,
  settings: NewRow,
): Promise<unknown> => ask.query("select fairmill.set_limits_v1($1, $2, $3)", [scope, name, JSON.stringify(settings)]);

export interface Answered {
  readonly id: string | null;
  readonly created: boolean;
  readonly refused: { readonly [fact: string]: unknown } | null;
}

/** Jobs of the kind "limited". Alone: the transaction ends with the statement, as with the library's own enqueue. */
export const enqueueLimited = (
  ask: Asker,
  jobs: readonly NewRow[],
  { alone = true, partial = false }: { alone?: boolean; partial?: boolean } = {},
): Promise<Answered[]> =>
  ask.query<Answered & pg.QueryResultRow>(
    `select id, created, refused from fairmill.enqueue_many_v1($1, '{"kind": "limited"}', alone => $2, partial => $3)`,
    [JSON.stringify(jobs), alone, partial],
  );

/** So many jobs of one key, one after the other; returns their ids. */
export async function enqueueKeyed(ask: Asker, count: number, job: NewRow = {}): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push((await enqueueLimited(ask, [{ key: "k", ...job }]))[0]!.id!);
  return ids;
}

export interface Told {
  readonly limits: readonly { scope: string; name: string; why: string; open_in_ms: number | null }[];
  readonly late?: readonly (readonly [priority: number, tenant: string, count: number])[];
  readonly due_in_ms?: number;
}

/** Claims along lanes; returns the jobs, and what the row without an id told. */
export async function claimUnderLimits(
  ask: Asker,
  worker: string,
  lanes: readonly Lane[] = [{ tenant: "default" }],
  jobsMax = 100,
  kinds: readonly string[] | null = null,
): Promise<{ jobs: Claimed[]; told: Told | undefined }> {
  const rows = await claimLanes(ask, worker, lanes, jobsMax, kinds);
  return {
    jobs: rows.filter(({ id }) => id !== null),
    told: rows.find(({ id }) => id === null)?.held_back as Told | undefined,
  };
}

/** The states of jobs, in the order given; of those that ended too. */
export async function statesOf(ask: Asker, ids: readonly string[]): Promise<string[]> {
  const rows = await ask.query<{ state: string }>(
    `select coalesce(j.state, h.state, 'gone') as state from unnest($1::bigint[]) with ordinality as given (id, n)
     left join fairmill.job j on j.id = given.id left join fairmill.job_history h on h.id = given.id order by n`,
    [ids],
  );
  return rows.map(({ state }) => state);
}

export const tick = (ask: Asker): Promise<pg.QueryResultRow[]> => ask.query("select * from fairmill.tick_upkeep_v1()");

/** Jobs that cost something, with why they were refused. */
export const enqueuePaid = (
  ask: Asker,
  jobs: readonly NewRow[],
  { alone = true, partial = false }: { alone?: boolean; partial?: boolean } = {},
): Promise<(Answered & Met)[]> =>
  ask.query<Answered & Met & pg.QueryResultRow>(
    `select id, created, conflict, refused from fairmill.enqueue_many_v1($1, '{"kind": "paid"}', alone => $2, partial => $3)`,
    [JSON.stringify(jobs), alone, partial],
  );

export const grant = (ask: Asker, account: string, amount: number | string, key?: string): Promise<unknown> =>
  ask.query("select * from fairmill.grant_v1($1, $2, $3)", [account, amount, key ?? null]);

/** What the account has free and reserved, as its owner is told. */
export async function balanceOf(ask: Asker, account: string): Promise<[available: number, reserved: number]> {
  const [row] = await ask.query<{ available: string; reserved: string }>("select * from fairmill.balance_v1($1)", [
    account,
  ]);
  return [Number(row!.available), Number(row!.reserved)];
}

/** The movements that belong to a job, oldest first, as "hold 3". */
export const movementsOf = async (ask: Asker, jobId: string): Promise<string[]> =>
  (
    await ask.query<{ said: string }>(
      "select kind || ' ' || amount as said from fairmill.credit_entry where job_id = $1 order by id",
      [jobId],
    )
  ).map(({ said }) => said);
