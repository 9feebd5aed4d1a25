// What the handler reads by itself, with real rows: the backlog by reason, now and over time, and what leaves.
import { expect, test } from "vitest";
import { AlertKeeper } from "../../src/alerts/alert-keeper.js";
import { rulesInForce } from "../../src/alerts/rule.js";
import { silentLogger } from "../../src/base/log.js";
import { Database } from "../../src/db/database.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { serverFor } from "./server.js";
import { waitingJobs } from "./waiting-jobs.js";

const db = useDatabase();
const { fill } = waitingJobs(db);

interface Backlog {
  times: number[];
  reasons: { reason: string; values: (number | null)[] }[];
  atLeast: boolean[];
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

test("the usual span is the last hour, and of a younger fleet the time since its first record, at least two minutes", async () => {
  type Span = { since: string; until: string };
  const minutes = async (path = "/series?name=jobs.out") => {
    const { ask } = serverFor(db);
    const { body } = await ask<{ items: Span[] } & Span>("viewer", "GET", path);
    const { since, until } = body.items?.[0] ?? body;
    return Math.round((Date.parse(until) - Date.parse(since)) / 6_000) / 10;
  };
  const recordedSince = (minutesAgo: number) =>
    db.query(
      `insert into fairmill.worker_tick_metrics (worker_id, mode, tick_started_at, interval_ms, tick_duration_ms)
       values ('w', 'interval', now() - $1 * interval '1 minute', 10000, 10)`,
      [minutesAgo],
    );
  expect(await minutes()).toBe(60);
  await recordedSince(0.2);
  expect(await minutes()).toBe(2);
  await recordedSince(6.5);
  for (const path of ["/series?name=jobs.out", "/backlog", "/time", "/fairness"]) expect(await minutes(path)).toBe(7);
  // What is asked for is answered.
  const since = new Date(Date.now() - 30 * 60_000).toISOString();
  expect(await minutes(`/series?name=jobs.out&since=${since}`)).toBe(30);
  expect(await minutes(`/series?name=jobs.out&until=${new Date().toISOString()}`)).toBe(60);
  await recordedSince(300);
  expect(await minutes()).toBe(60);
});
