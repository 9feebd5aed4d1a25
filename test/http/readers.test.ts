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

async function fill(count: number, queue: string, delay?: "1h"): Promise<void> {
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => client.close());
  const job = defineJob<number>({ kind: "k", queue });
  for (let n = 0; n < count; n++) await client.enqueue(job, n, { tenant: "acme", ...(delay && { delay }) });
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
  await fill(2, "mails", "1h");
  await fill(4, "slow");
  await ask("operator", "POST", "/queues/slow/pause");
  const all = (await ask<Backlog>("viewer", "GET", "/backlog?stepMs=600000")).body;
  expect(lastOf(all)).toEqual({ runnable: 3, scheduled: 2, paused: 4 });
  expect(all.times).toHaveLength(7);
  for (const { values } of all.reasons) expect(values).toEqual([...Array(6).fill(null), expect.any(Number)]);
  const slow = (await ask<Backlog>("viewer", "GET", "/backlog?queue=slow")).body;
  expect(lastOf(slow)).toEqual({ paused: 4 });
  for (const narrow of ["/backlog?tenant=other", "/backlog?kind=k"])
    expect((await ask<Backlog>("viewer", "GET", narrow)).body, narrow).toMatchObject({ reasons: [], times: [] });
  expect((await ask<Backlog>("acmeViewer", "GET", "/backlog")).body.reasons).toEqual([]);
});

test("the backlog over time is what rounds of alerts saw; a reason that a round does not name is zero in it", async () => {
  const { ask } = serverFor(db);
  await serve();
  await fill(3, "mails");
  await sample();
  await fill(2, "mails");
  await fill(4, "mails", "1h");
  await sample();
  await db.query("update fairmill.metric_sample set at = at - interval '30 minutes'");
  const past = (await ask<Backlog>("viewer", "GET", "/backlog?stepMs=3600000")).body;
  expect(past.times).toHaveLength(2);
  expect(Object.fromEntries(past.reasons.map(({ reason, values }) => [reason, values]))).toEqual({
    runnable: [4, 5],
    scheduled: [2, 4],
  });
  const until = new Date(Date.now() - 20 * 60_000).toISOString();
  const over = (await ask<Backlog>("viewer", "GET", `/backlog?stepMs=3600000&until=${until}`)).body;
  expect(over.reasons.map(({ values }) => values)).toEqual([[4], [2]]);
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
