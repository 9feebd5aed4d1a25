// What tenants were given, where the time of jobs went, and limits that are tried first.
import { expect, test } from "vitest";
import { wholeSteps } from "../../src/http/share-readers.js";
import { useDatabase } from "../support/database.js";
import { serverFor } from "./server.js";
import { waitingJobs } from "./waiting-jobs.js";

const db = useDatabase();
const { fill } = waitingJobs(db);

const almostAnHourAgo = () => new Date(Date.now() - 3_550_000).toISOString();

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
  const { lanes, jain, jainNow } = (
    await ask<Fairness>("viewer", "GET", `/fairness?stepMs=1800000&since=${almostAnHourAgo()}`)
  ).body;
  expect(lanes).toMatchObject([
    { tenant: "acme", weight: 3, served: [30, 10], fair: [30, 30], shareGiven: 0.5, shareEntitled: 0.75 },
    { tenant: "other", weight: 1, served: [10, 30], fair: [10, 10], shareGiven: 0.5, shareEntitled: 0.25 },
  ]);
  // No sample says what they wanted besides.
  expect([jain, jainNow]).toEqual([[null, null], null]);
  expect((await ask<Fairness>("viewer", "GET", "/fairness?limit=1")).body.lanes).toHaveLength(1);
  expect((await ask<Fairness>("viewer", "GET", "/fairness?queue=mails")).body.lanes).toEqual([]);
  const own = (await ask<Fairness>("acmeViewer", "GET", `/fairness?stepMs=1800000&since=${almostAnHourAgo()}`)).body;
  expect(own).toMatchObject({ jain: [null, null], lanes: [{ tenant: "acme", served: [30, 10], shareGiven: 1 }] });
  expect(own.lanes).toHaveLength(1);
});

const looked = (minutesAgo: number, tenants: object, kinds: object = {}) =>
  db.query("insert into fairmill.fleet_sample (at, tenants, kinds) values (now() - $1 * interval '1 minute', $2, $3)", [
    minutesAgo,
    JSON.stringify(tenants),
    JSON.stringify(kinds),
  ]);

test("fairness: an interval that is not over, or not on record yet, is left out; after a silence it is none", () => {
  const times = [0, 20_000, 40_000];
  expect(wholeSteps(times, 20_000, 57_000)).toEqual([0, 20_000]);
  expect(wholeSteps(times, 20_000, 58_000)).toEqual(times);
  expect(wholeSteps(times, 20_000, 5_000)).toEqual(times);
});

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
  const { lanes } = (
    await ask<{ lanes: Lane[] }>("viewer", "GET", `/fairness?stepMs=1800000&since=${almostAnHourAgo()}`)
  ).body;
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

test("fairness: the Jain index is of tenants that competed, by what each was given of its fair share", async () => {
  const { ask } = serverFor(db);
  type Jain = { jain: (number | null)[]; jainNow: number | null };
  const jainOf = async () =>
    (await ask<Jain>("viewer", "GET", `/fairness?stepMs=1800000&since=${almostAnHourAgo()}`)).body.jain[1]!;
  await ask("admin", "PUT", "/tenants/acme", { weight: 3 });
  await record(15, { acme: { claimed: 30 }, other: { claimed: 10 }, capped: { claimed: 2 }, calm: { claimed: 1 } });
  await looked(15, {
    acme: { runnable: 90 },
    other: { runnable: 90 },
    // Its own cap holds it: it was given all that it could take.
    capped: { runnable: 0, "tenant cap": 500 },
    calm: {},
  });
  expect(await jainOf()).toBeCloseTo(1);
  // One that is starved counts, and so does the one that was given what it lacks, although nothing is left of it.
  await db.query("delete from fairmill.fleet_sample");
  await looked(15, { other: { runnable: 90 }, starved: { runnable: 50 } });
  // 43 were given, three of them to tenants that wanted no more. The other 40 are shared by the weights 3, 1 and 1.
  expect(await jainOf()).toBeCloseTo(jain([30 / 24, 10 / 8, 0 / 8]));
  // Nothing was left of any tenant: nothing was shared.
  await db.query("delete from fairmill.fleet_sample");
  await looked(15, { capped: { "tenant cap": 500 } });
  expect(await jainOf()).toBeNull();
});

const jain = (parts: readonly number[]) =>
  parts.reduce((sum, part) => sum + part, 0) ** 2 / (parts.length * parts.reduce((sum, part) => sum + part ** 2, 0));

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
  // The two looks were written one after the other: what passed in between is in it.
  expect(waitedLimitsMs).toBeCloseTo(600 + minutes(4), -4);
  expect(sleptMs).toBeCloseTo(30 + 1.5 * minutes(4), -4);
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
