// What the handler reads by itself, with real rows: the backlog by reason, pools with their children, decisions, shares of tenants, times.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { AlertKeeper } from "../../src/alerts/alert-keeper.js";
import { rulesInForce } from "../../src/alerts/rule.js";
import { silentLogger } from "../../src/base/log.js";
import { Database } from "../../src/db/database.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { serverFor } from "./server.js";

const db = useDatabase();

interface Backlog {
  times: number[];
  reasons: { reason: string; values: (number | null)[] }[];
  atLeast: boolean[];
}

async function fill(
  count: number,
  queue: string,
  { delay, tenant = "acme", kind = "k" }: { delay?: "1h"; tenant?: string; kind?: string } = {},
): Promise<void> {
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => client.close());
  const job = defineJob<number>({ kind, queue });
  for (let n = 0; n < count; n++) await client.enqueue(job, n, { tenant, ...(delay && { delay }) });
}
const serve = () =>
  db.query("select fairmill.register_v1('w', '{mails}', interval '1 hour', null, 5, 'host', 1, '0.1.0')");
const lastOf = ({ reasons }: Backlog) =>
  Object.fromEntries(reasons.map(({ reason, values }) => [reason, values.at(-1)]).filter(([, value]) => value !== 0));

async function sample(): Promise<void> {
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 2, applicationName: "alerts" });
  endAfterTest(() => database.close());
  const settings = { rules: rulesInForce({}), channels: [], everyMs: 0 };
  await new AlertKeeper({ db: database, log: silentLogger, identity: { id: "w" } }, settings).evaluate(0);
}

test("the backlog: the present by reason, of all and of a queue, and of no other tenant", async () => {
  const { ask } = serverFor(db);
  const empty = (await ask<Backlog>("viewer", "GET", "/backlog")).body;
  expect([lastOf(empty), empty.times.length]).toEqual([{}, empty.atLeast.length]);
  await serve();
  await fill(3, "mails");
  await fill(2, "mails", { delay: "1h" });
  await fill(4, "slow");
  await ask("operator", "POST", "/queues/slow/pause");
  const all = (await ask<Backlog>("viewer", "GET", "/backlog?stepMs=600000")).body;
  expect(lastOf(all)).toEqual({ runnable: 3, scheduled: 2, paused: 4 });
  expect(all.times).toHaveLength(7);
  for (const { values } of all.reasons) expect(values).toEqual([...Array(6).fill(null), expect.any(Number)]);
  const slow = (await ask<Backlog>("viewer", "GET", "/backlog?queue=slow")).body;
  expect(lastOf(slow)).toEqual({ paused: 4 });
  expect(lastOf((await ask<Backlog>("viewer", "GET", "/backlog?tenant=other")).body)).toEqual({});
  expect(lastOf((await ask<Backlog>("viewer", "GET", "/backlog?kind=k")).body)).toEqual({
    runnable: 3,
    scheduled: 2,
    paused: 4,
  });
  await db.query("insert into fairmill.limit_setting (scope, name, max_running) values ('tenant', 'other', 0)");
  await fill(5, "mails", { tenant: "other" });
  expect(lastOf((await ask<Backlog>("viewer", "GET", "/backlog?tenant=other")).body)).toEqual({ "tenant cap": 5 });
  expect(lastOf((await ask<Backlog>("acmeViewer", "GET", "/backlog")).body)).toEqual({
    runnable: 3,
    scheduled: 2,
    paused: 4,
  });
  expect((await ask("acmeViewer", "GET", "/backlog?tenant=other")).status).toBeGreaterThanOrEqual(400);
});

test("the backlog tells every reason apart", async () => {
  const { ask } = serverFor(db);
  await db.query(
    "select fairmill.register_v1('w', '{mails,capped,slow,dear}', interval '1 hour', '{k,dear}', 5, 'host', 1, '0.1.0')",
  );
  const limit = (scope: string, name: string, more: string) =>
    db.query(
      `insert into fairmill.limit_setting (scope, name, ${more.split("=")[0]}) values ($1, $2, ${more.split("=")[1]})`,
      [scope, name],
    );
  await limit("tenant", "small", "max_running=2");
  await limit("queue", "capped", "max_running=1");
  await limit("kind", "dear", "max_running=0");
  await limit("queue", "slow", "paused_at=now()");
  await db.query(
    "insert into fairmill.limit_setting (scope, name, rate_limit, rate_per_ms, rate_how, rate_at) values ('tenant', 'hasty', 1, 3600000, 'window', 'start')",
  );
  await fill(1, "mails");
  await fill(6, "mails", { tenant: "small" });
  await fill(3, "capped");
  await fill(5, "dear", { kind: "dear" });
  await fill(7, "slow");
  await fill(8, "mails", { tenant: "hasty" });
  await fill(2, "nobodys");
  await fill(9, "mails", { kind: "unknown" });
  await fill(6, "mails", { delay: "1h", tenant: "later" });
  const [failed, sleeping, waiting, limited] = (
    await db.query<{ id: string }>("select id::text as id from fairmill.job where tenant = 'later' order by id")
  ).map(({ id }) => id);
  const lease = 4294967296;
  await db.query("update fairmill.job set lease_no = $1, attempt = 1 where id = any ($2)", [
    lease,
    [failed, sleeping, waiting],
  ]);
  await db.query("update fairmill.job set failures = $1 where id = $2", [
    JSON.stringify([{ lease_no: lease }]),
    failed,
  ]);
  await db.query("update fairmill.job set rate_limited = true, limit_key = 'k' where id = $1", [limited]);
  for (const [id, kind] of [
    [sleeping, "sleep"],
    [waiting, "wait"],
  ])
    await db.query(
      "insert into fairmill.step (job_id, name, kind, position, started_at, wake_at, attempt, lease_no) values ($1, 's', $2, 0, now(), now() + interval '1 hour', 1, $3)",
      [id, kind, lease],
    );
  await db.query(
    "update fairmill.job set state = 'blocked', aside = 'blocked', run_at = null, limit_key = 'k' where id = (select max(id) from fairmill.job)",
  );
  const all = (await ask<Backlog>("viewer", "GET", "/backlog")).body;
  expect(lastOf(all)).toEqual({
    runnable: 1 + 2 + 1 + 1,
    "tenant cap": 4,
    "queue cap": 2,
    "kind cap": 5,
    paused: 7,
    rate: 7 + 1,
    "no worker": 2,
    "no handler": 9,
    retrying: 1,
    sleeping: 1,
    "waiting for a signal": 1,
    scheduled: 1,
    key: 1,
  });
  // Written by hand, against the rules of the schema.
  await db.query("delete from fairmill.step; delete from fairmill.job");
});

test("the backlog over time is what rounds of alerts saw; a reason that a round does not name is zero in it", async () => {
  const { ask } = serverFor(db);
  await serve();
  await fill(3, "mails");
  await sample();
  await fill(2, "mails");
  await fill(4, "mails", { delay: "1h" });
  await sample();
  await db.query("update fairmill.fleet_sample set at = at - interval '30 minutes'");
  const past = (await ask<Backlog>("viewer", "GET", "/backlog?stepMs=3600000")).body;
  expect(past.times).toHaveLength(2);
  expect(Object.fromEntries(past.reasons.map(({ reason, values }) => [reason, values]))).toEqual({
    runnable: [4, 5],
    scheduled: [2, 4],
  });
  const until = new Date(Date.now() - 20 * 60_000).toISOString();
  const over = (await ask<Backlog>("viewer", "GET", `/backlog?stepMs=3600000&until=${until}`)).body;
  expect(over.reasons.map(({ values }) => values)).toEqual([[4], [2]]);
  const of = async (query: string) =>
    (await ask<Backlog>("viewer", "GET", `/backlog?stepMs=3600000&until=${until}&${query}`)).body.reasons;
  expect((await of("kind=k")).map(({ values }) => values)).toEqual([[4], [2]]);
  expect((await of("tenant=acme")).map(({ values }) => values)).toEqual([[4], [2]]);
  expect((await of("tenant=other")).map(({ values }) => values)).toEqual([[0]]);
  // A round that names as many as it may says nothing of the others.
  await db.query(`update fairmill.fleet_sample set tenants = tenants || '{"": {"runnable": 1}}'`);
  expect(await of("tenant=other")).toEqual([]);
  expect(await of("tenant=acme&kind=k")).toEqual([]);
});

test("what leaves a second is counted by the time that records cover, not by the window", async () => {
  const { ask } = serverFor(db);
  const out = async () => (await ask<{ outPerSecond: number | null }>("viewer", "GET", "/now")).body.outPerSecond;
  expect(await out()).toBeNull();
  const run = (secondsAgo: number, jobs: number) =>
    db.query(
      `insert into fairmill.worker_tick_metrics (worker_id, mode, tick_started_at, interval_ms, tick_duration_ms, jobs_processed, tenants)
       values ('w', 'interval', now() - $1 * interval '1 second', 10000, 10, $2, jsonb_build_object('acme', jsonb_build_object('runs', $2 / 2)))`,
      [secondsAgo, jobs],
    );
  await run(20, 40);
  await run(10, 40);
  expect(await out()).toBeCloseTo(4, 1);
  const own = (await ask<{ outPerSecond: number; inPerSecond: null }>("acmeViewer", "GET", "/now")).body;
  expect([Math.round(own.outPerSecond), own.inPerSecond]).toEqual([2, null]);
  // More than a minute without a row: no worker has lived since, and that time counts.
  await db.query("update fairmill.worker_tick_metrics set tick_started_at = tick_started_at - interval '140 seconds'");
  expect(await out()).toBeCloseTo(80 / 160, 1);
});

const child = (number: number, state: string, more: object = {}) => ({
  ...{ number, pid: 100 + number, state, draining: false, reason: null, failures: 0, running: 0, jobs_processed: 7 },
  ...{ cpu: 0.5, memory_bytes: 1_000, uptime_ms: 5_000, started_at_ms: 0, ...more },
});

const report = (children: object[], reportEveryMs = 60_000) =>
  db.query("select fairmill.report_pool_v1('images', $1, $2, $3)", [
    JSON.stringify({ id: "s1", worker: "w", host: "h", pid: 9, started_at_ms: 0, report_every_ms: reportEveryMs }),
    JSON.stringify(children),
    JSON.stringify({ min: 1, max: 6, policy: "targetWait" }),
  ]);
const decide = (decision: object) =>
  db.query("select fairmill.record_scale_v1('images', 's1', $1)", [
    JSON.stringify({ desired: 4, decide_every_ms: 60_000, ...decision }),
  ]);

test("pools: living supervisors with their children by stage of life, and the worker knows its pool", async () => {
  const { ask } = serverFor(db);
  expect((await ask("viewer", "GET", "/scaling/pools")).body).toEqual({ items: [] });
  await serve();
  await report([
    child(1, "working"),
    child(2, "idle"),
    child(3, "ready", { draining: true }),
    child(4, "failed", { reason: "exit code 1", failures: 2 }),
  ]);
  await decide({});
  const { items } = (await ask<{ items: { children: object[] }[] }>("viewer", "GET", "/scaling/pools")).body;
  expect(items).toMatchObject([
    {
      pool: "images",
      policy: "targetWait",
      min: 1,
      max: 6,
      wanted: 4,
      actual: 2,
      ready: 1,
      supervisor: "s1",
      host: "h",
    },
  ]);
  expect(items[0]!.children).toMatchObject([
    { worker: "w", pid: 101, state: "ready", exit: null, rssBytes: 1_000, cpu: 0.5 },
    { pid: 102, state: "starting" },
    { pid: 103, state: "draining" },
    { pid: 104, state: "gone", exit: "exit code 1", restarts: 2 },
  ]);
  expect((await ask("viewer", "GET", "/workers/w")).body).toMatchObject({ pool: "images" });
  await db.query("update fairmill.supervisor set seen_at = now() - interval '1 hour'");
  expect((await ask("viewer", "GET", "/scaling/pools")).body).toMatchObject({
    items: [{ pool: "images", supervisor: "", actual: 0, children: [] }],
  });
  expect((await ask("acmeViewer", "GET", "/scaling/pools")).status).toBe(403);
});

test("desired: a number for KEDA's metrics-api, of a pool that there is, for callers that may see all", async () => {
  const { ask } = serverFor(db);
  const path = "/scaling/pools/images/desired";
  expect((await ask("viewer", "GET", path)).status).toBe(404);
  await serve();
  await report([]);
  await decide({});
  expect((await ask("viewer", "GET", path)).body).toEqual({ pool: "images", desired: 4 });
  expect((await ask("acmeViewer", "GET", path)).status).toBe(403);
});

test("decisions: newest first, page by page, of a pool, in a part of time", async () => {
  const { ask } = serverFor(db);
  await report([]);
  const inputs = {
    runnable: 9,
    hosts: 1,
    heldBack: { "rate-limited": 5, blocked: 0 },
    memory: { perChild: 2, max: 8 },
  };
  await decide({ action: "up", current: 1, wanted: 3, target: 3, reason: "9 wait", inputs });
  const reason = "wanted 9, 6 by the maximum: 9 wait";
  await decide({ action: "suppressed", current: 6, wanted: 9, target: 6, reason, inputs });
  type Page = { items: { id: string; wanted: number }[]; next: string | null };
  const first = (await ask<Page>("viewer", "GET", "/scaling/decisions?limit=1")).body;
  expect(first.items).toMatchObject([
    { pool: "images", actual: 6, wanted: 9, done: 6, reason, cappedBy: "the maximum", suppressed: true },
  ]);
  expect(first.items[0]).toMatchObject({
    inputs: { runnable: 9, memoryMax: 8 },
    leftOut: [{ reason: "rate", count: 5 }],
  });
  const second = (await ask<Page>("viewer", "GET", `/scaling/decisions?limit=1&cursor=${first.next}`)).body;
  expect(second).toMatchObject({ items: [{ wanted: 3, done: 3, cappedBy: null, suppressed: false }], next: null });
  const found = async (query: string) =>
    (await ask<Page>("viewer", "GET", `/scaling/decisions?${query}`)).body.items.length;
  expect(await found("pool=images")).toBe(2);
  expect(await found("pool=other")).toBe(0);
  expect(await found("since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z")).toBe(0);
  expect((await ask("viewer", "GET", "/scaling/decisions?cursor=x")).status).toBe(400);
});

const record = (minutesAgo: number, tenants: object, kinds: object = {}) =>
  db.query(
    `insert into fairmill.worker_tick_metrics (worker_id, mode, tick_started_at, interval_ms, tick_duration_ms, tenants, kinds)
     values ('w', 'interval', now() - $1 * interval '1 minute', 10000, 10, $2, $3)`,
    [minutesAgo, JSON.stringify(tenants), JSON.stringify(kinds)],
  );

test("fairness: what each tenant was given beside its part by weight, and how even it was among those that waited", async () => {
  const { ask } = serverFor(db);
  type Fairness = { jain: (number | null)[]; jainNow: number | null; lanes: { tenant: string }[] };
  expect((await ask<Fairness>("viewer", "GET", "/fairness")).body).toMatchObject({ lanes: [], jainNow: null });
  await ask("admin", "PUT", "/tenants/acme", { weight: 3 });
  const waited = { waits: 1, wait_ms: 5_000 };
  await record(45, { acme: { claimed: 30, ...waited }, other: { claimed: 10, ...waited }, "": { claimed: 99 } });
  await record(15, { acme: { claimed: 10, ...waited }, other: { claimed: 30, ...waited }, idle: { claimed: 0 } });
  const { lanes, jain, jainNow } = (await ask<Fairness>("viewer", "GET", "/fairness?stepMs=1800000")).body;
  expect(lanes).toMatchObject([
    { tenant: "acme", weight: 3, served: [30, 10], fair: [30, 30], shareGiven: 0.5, shareEntitled: 0.75 },
    { tenant: "other", weight: 1, served: [10, 30], fair: [10, 10], shareGiven: 0.5, shareEntitled: 0.25 },
  ]);
  expect(jain[0]).toBe(1);
  expect(jainNow).toBeCloseTo((10 / 3 + 30) ** 2 / (2 * ((10 / 3) ** 2 + 900)));
  expect((await ask<Fairness>("viewer", "GET", "/fairness?limit=1")).body.lanes).toHaveLength(1);
  expect((await ask<Fairness>("viewer", "GET", "/fairness?queue=mails")).body.lanes).toEqual([]);
  const own = (await ask<Fairness>("acmeViewer", "GET", "/fairness?stepMs=1800000")).body;
  expect(own).toMatchObject({ jain: [null, null], lanes: [{ tenant: "acme", served: [30, 10], shareGiven: 1 }] });
  expect(own.lanes).toHaveLength(1);
});

const looked = (minutesAgo: number, tenants: object, kinds: object = {}) =>
  db.query("insert into fairmill.fleet_sample (at, tenants, kinds) values (now() - $1 * interval '1 minute', $2, $3)", [
    minutesAgo,
    JSON.stringify(tenants),
    JSON.stringify(kinds),
  ]);

test("fairness: what waited is unmet demand, a tenant that wanted less leaves its part to the others, and a starved one has a lane", async () => {
  const { ask } = serverFor(db);
  type Lane = {
    tenant: string;
    demand: (number | null)[];
    fair: (number | null)[];
    waitP95Ms: number | null;
    limitedRatio: number | null;
  };
  const hist = [0, 0, 0, 0, 0, 0, 0, 90, 0, 10];
  await record(15, { acme: { claimed: 50, waits: 100, wait_ms: 1, wait_hist: hist }, small: { claimed: 10 } });
  await looked(15, { acme: { runnable: 100, scheduled: 7 }, starved: { runnable: 30, "tenant cap": 10 } });
  await looked(14, { acme: { runnable: 200 }, starved: { runnable: 30, "tenant cap": 10 }, "": { runnable: 9 } });
  const { lanes } = (await ask<{ lanes: Lane[] }>("viewer", "GET", "/fairness?stepMs=1800000")).body;
  expect(lanes.map(({ tenant }) => tenant)).toEqual(["acme", "small", "starved"]);
  const [acme, small, starved] = lanes as [Lane, Lane, Lane];
  expect([acme.demand, small.demand, starved.demand]).toEqual([
    [null, 150],
    [null, 0],
    [null, 40],
  ]);
  // Sixty were given: ten are all that one wanted, and the two others share the rest.
  expect([acme.fair, small.fair, starved.fair]).toEqual([
    [null, 25],
    [null, 10],
    [null, 25],
  ]);
  expect([acme.limitedRatio, small.limitedRatio, starved.limitedRatio]).toEqual([0, null, 0.25]);
  expect(acme.waitP95Ms).toBeCloseTo(2_500 + 0.5 * 2_500);
  expect(starved.waitP95Ms).toBeNull();
});

test("where the time went: waits are split by what samples saw, and pauses are added up as they were decided", async () => {
  const { ask } = serverFor(db);
  const kinds = { mail: { runs: 10, run_ms: 400, waits: 5, wait_ms: 500, retry_ms: 70, sleep_ms: 30 } };
  await record(10, {}, kinds);
  await looked(12, {}, { mail: { runnable: 2, "kind cap": 4, "no worker": 2, scheduled: 50, "key rate": 1 } });
  await looked(10, {}, { mail: { key: 2, "waiting for a signal": 3, "key rate": 1 } });
  const [mail] = (await ask<{ items: object[] }>("viewer", "GET", "/time")).body.items;
  const minutes = (n: number) => n * 60_000;
  expect(mail).toMatchObject({ jobs: 10, ranMs: 400, retriedMs: 70, waitedTurnMs: 200, waitedWorkerMs: 200 });
  const { waitedLimitsMs, sleptMs } = mail as { waitedLimitsMs: number; sleptMs: number };
  expect(waitedLimitsMs).toBeCloseTo(600 + minutes(4), -2);
  expect(sleptMs).toBeCloseTo(30 + 1.5 * minutes(4), -2);
});

test("a job tells for what it waited: as asked, for limits, for a worker, and the rest for its turn", async () => {
  const { ask } = serverFor(db);
  await fill(1, "mails");
  await db.query(
    "update fairmill.job set created_at = now() - interval '40 minutes', run_at = now() - interval '30 minutes'",
  );
  await looked(20, { acme: { runnable: 1, "tenant cap": 2, "no handler": 1 } });
  const [{ id }] = (await db.query<{ id: string }>("select id::text as id from fairmill.job")) as [{ id: string }];
  type Spent = { delayedMs: number; waitedMs: number; limitedMs: number; unservedMs: number };
  const { spent } = (await ask<{ spent: Spent }>("viewer", "GET", `/jobs/${id}`)).body;
  const minutes = (ms: number) => Math.round(ms / 60_000);
  expect([spent.delayedMs, spent.waitedMs, spent.limitedMs, spent.unservedMs].map(minutes)).toEqual([10, 30, 15, 8]);
});

test("where the time went: by kind and by tenant, with sampled waits taken for all, and of no other tenant", async () => {
  const { ask } = serverFor(db);
  const figures = (runs: number, run_ms: number, waits: number, wait_ms: number) => ({ runs, run_ms, waits, wait_ms });
  const kinds = { mail: figures(10, 400, 5, 100), image: figures(2, 9_000, 0, 0), waiting: { runs: 0 } };
  await record(10, { acme: figures(4, 100, 4, 40), other: figures(8, 9_300, 0, 0) }, kinds);
  await record(5, {}, { mail: figures(10, 600, 5, 300) });
  await record(120, {}, { old: figures(10, 600, 5, 300) });
  const rows = async (path: string, who: "viewer" | "acmeViewer" = "viewer") =>
    (
      await ask<{ items: { key: string; jobs: number; ranMs: number; waitedTurnMs: number }[] }>(who, "GET", path)
    ).body.items.map(({ key, jobs, ranMs, waitedTurnMs }) => [key, jobs, ranMs, waitedTurnMs]);
  expect(await rows("/time")).toEqual([
    ["image", 2, 9_000, 0],
    ["mail", 20, 1_000, 800],
  ]);
  expect(await rows("/time?kind=mail")).toEqual([["mail", 20, 1_000, 800]]);
  expect(await rows("/time?by=tenant")).toEqual([
    ["other", 8, 9_300, 0],
    ["acme", 4, 100, 40],
  ]);
  for (const path of ["/time", "/time?by=tenant", "/time?by=queue"])
    expect(await rows(path, "acmeViewer"), path).toEqual([["acme", 4, 100, 40]]);
  for (const path of ["/time?by=queue", "/time?queue=mails", "/time?by=tenant&kind=mail"])
    expect(await rows(path), path).toEqual([]);
});

test("try it first: a cap, a rate and a weight, replayed on runs of the last hour, and refused as if they were set", async () => {
  const { ask } = serverFor(db);
  type Trial = {
    before: Record<string, number | null>;
    after: Record<string, number | null>;
    heldByLimits: number | null;
    message: string;
    basis: { runs: number; note: string };
  };
  const attempt = async (body: object) => (await ask<Trial>("viewer", "POST", "/limits/try", body)).body;
  expect((await attempt({ scope: "tenant", name: "acme", maxRunning: 1 })).message).toContain("nothing to replay");
  // Four runs of ten seconds, one every five; one of them had failed before, half an hour ago.
  await db.query(
    `insert into fairmill.job_history (id, lease_no, priority, attempt, crashes, max_attempts, state, queue, tenant, kind, worker, created_at, started_at, ended_at, payload, failures)
     select nextval('fairmill.job_id_seq'), 2, 0, 2, 0, 3, 'done', 'mails', t.tenant, 'k', 'w', now() - interval '1 day', now() - interval '10 minutes' + n * interval '5 seconds',
       now() - interval '10 minutes' + n * interval '5 seconds' + interval '10 seconds', '{}',
       case when n = 0 then jsonb_build_array(jsonb_build_object('attempt', 1, 'lease_no', 1, 'worker', 'w', 'outcome', 'failed', 'started_at', now() - interval '31 minutes', 'ended_at', now() - interval '30 minutes')) end
     from generate_series(0, 3) n cross join (values ('acme'), ('other')) as t (tenant)`,
  );
  const capped = await attempt({ scope: "tenant", name: "acme", maxRunning: 1 });
  expect(capped.basis.runs).toBe(5);
  expect(capped).toMatchObject({
    before: { starts: 5, delayed: 0, mostAtOnce: 2 },
    after: { delayed: 3, mostAtOnce: 1 },
  });
  expect(capped.message).toContain("3 of the 5 starts");
  expect((await attempt({ scope: "queue", name: "mails", maxRunning: 4 })).after).toMatchObject({ delayed: 0 });
  const rated = await attempt({ scope: "kind", name: "k", rate: { limit: 1, per: "1h" } });
  expect(rated.after).toMatchObject({ starts: 1, delayed: 9, notStarted: 9 });
  const atEnqueue = await attempt({ scope: "kind", name: "k", rate: { limit: 1, per: "1h", at: "enqueue" } });
  expect([atEnqueue.after["delayed"], atEnqueue.basis.note]).toEqual([0, expect.stringContaining("not replayed")]);
  // What is set already goes on to hold where nothing else is said.
  await ask("admin", "PUT", "/tenants/acme", { maxRunning: 1 });
  expect((await attempt({ scope: "tenant", name: "acme" })).after["delayed"]).toBe(3);
  expect((await attempt({ scope: "tenant", name: "acme", maxRunning: null })).after["delayed"]).toBe(0);
  await record(10, { acme: { claimed: 30 }, other: { claimed: 30 } });
  await looked(10, { acme: { "tenant cap": 3, runnable: 100 }, other: { runnable: 100 } });
  const weighed = await attempt({ scope: "tenant", name: "acme", weight: 3, maxRunning: null });
  expect([weighed.before["shareEntitled"], weighed.after["shareEntitled"]]).toEqual([0.5, 0.75]);
  expect(weighed.message).toContain("75 %");
  for (const bad of [{ weight: 0 }, { weight: 2, scope: "queue" }, { rate: { limit: 0, per: "1m" } }, { cap: 1 }])
    expect((await ask("viewer", "POST", "/limits/try", { scope: "tenant", name: "acme", ...bad })).status).toBe(400);
  expect(await db.query("select max_running from fairmill.limit_setting where name = 'acme'")).toEqual([
    { max_running: 1 },
  ]);
});
