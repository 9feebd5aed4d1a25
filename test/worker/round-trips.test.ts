// How often a job goes over the line: what costs latency is counted, not timed.
import { type Clock, createClient, defineJob, handle } from "fairmill";
import pg from "pg";
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { withoutTimersOf } from "../support/clocks.js";
import { useDatabase } from "../support/database.js";
import { asleep, begun, endOf, eventOf, listens, startWorker } from "../support/jobs.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "job" });
const FUNCTION = /fairmill\.(\w+)_v1/;

/** A worker that sleeps and hears notifications, and never looks around by itself. */
async function sleeper(
  proxy: TcpProxy,
  options: { concurrency?: number; prefetch?: number; clock?: Clock } = {},
  run: (ctx: { readonly input: { n: number } }) => unknown = ({ input }) => input.n,
) {
  const worker = await startWorker(proxy.url, [handle(job, run)], {
    clock: withoutTimersOf(500),
    ...options,
  });
  await listens(worker);
  await waitUntil(
    "it is listed",
    async () => (await db.query("select from fairmill.worker where listening")).length > 0,
  );
  await asleep(worker);
  return worker;
}

/** A job whose transaction takes its id now and commits when it is told to: then its lane is named to sleeping workers. */
async function enqueueLate(): Promise<{ id: string; commit(): Promise<void> }> {
  const session = new pg.Client(db.url);
  await session.connect();
  await session.query("begin");
  const { rows } = await session.query(
    'select id from fairmill.enqueue_many_v1(\'[{"kind": "job", "payload": {"n": 2}}]\', wake => false)',
  );
  return {
    id: String(rows[0].id),
    commit: async () => {
      await session.query("commit");
      await session.query("select fairmill.wake_lane_v1('default', 0, 'default')");
      await session.end();
    },
  };
}

/** Calls of functions, in order, that a worker of the proxy has sent since. */
const callsOf = (proxy: TcpProxy, from: number) =>
  proxy.statements
    .slice(from)
    .filter(({ application }) => application === "fairmill worker")
    .map(({ text }) => FUNCTION.exec(text)?.[1])
    .filter((name) => name !== "tick_upkeep");

test("a sleeping worker claims a job in the round trip in which it hears of it: no look at the lanes before", async () => {
  const proxy = await TcpProxy.before(db.url);
  await using worker = await sleeper(proxy);
  await using client = createClient({ databaseUrl: db.url });
  const calls: unknown[] = [];
  for (const tenant of ["acme", "globex", "hooli", "initech", "umbrella", "wayne"]) {
    const from = proxy.statements.length;
    const settled = eventOf(worker, "settled");
    await client.enqueue(job, { n: 1 }, { tenant, priority: 5 });
    await settled;
    calls.push(callsOf(proxy, from).slice(0, 2));
    await asleep(worker);
  }
  // Before it sleeps it makes sure, and that may be under way when the job arrives: so not each time.
  const direct = calls.filter((first) => JSON.stringify(first) === '["claim_lanes","news"]');
  expect(direct.length, JSON.stringify(calls)).toBeGreaterThanOrEqual(3);
});

test("a worker that starts claims before its first round of upkeep, which comes when it has no work", async () => {
  const proxy = await TcpProxy.before(db.url);
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueue(job, { n: 1 });
  // The time of the first round never comes: that there is no work brings it.
  await using _ = await startWorker(proxy.url, [handle(job, ({ input }) => input.n)], { clock: withoutTimersOf(500) });
  await waitUntil("it does upkeep", () => proxy.count("tick_upkeep_v1") > 0);
  const calls = proxy.statements.map(({ text }) => FUNCTION.exec(text)?.[1]);
  expect(calls.indexOf("claim_lanes")).toBeGreaterThanOrEqual(0);
  expect(calls.indexOf("claim_lanes")).toBeLessThan(calls.indexOf("tick_upkeep"));
});

/** Calls of functions that clients of the proxy have sent since. What a new connection is asked is no call of a function. */
const callsOfClients = (proxy: TcpProxy, from: number) =>
  proxy.statements
    .slice(from)
    .filter(({ application }) => application === "fairmill client")
    .map(({ text }) => FUNCTION.exec(text)?.[1])
    .filter((name) => name !== undefined);

test("an enqueue is one statement while nobody wants to be woken, and of those in a row the wake-up goes behind and then with it", async () => {
  const proxy = await TcpProxy.before(db.url);
  await using client = createClient({ databaseUrl: proxy.url, clock: { ...systemClock, now: () => 0 } });
  await client.enqueue(job, { n: 0 });
  const from = proxy.statements.length;
  const first = await client.enqueue(job, { n: 1 });
  expect(callsOfClients(proxy, from)).toEqual(["enqueue_one"]);
  await using worker = await sleeper(proxy);
  await endOf(client, first.id);
  await asleep(worker);
  const asleepFrom = proxy.statements.length;
  const second = await client.enqueue(job, { n: 2 });
  await endOf(client, second.id);
  await client.enqueue(job, { n: 3 });
  // From then on the wake-up goes with the job.
  const calls = callsOfClients(proxy, asleepFrom).filter((name) => name !== "job");
  expect(calls.slice(0, 4)).toEqual(["enqueue_one", "wake_lane", "enqueue_one", "wake_lane"]);
});

test("behind a pause the enqueue wakes the worker by itself, and no statement follows it", async () => {
  const proxy = await TcpProxy.before(db.url);
  let nowMs = 0;
  await using client = createClient({ databaseUrl: proxy.url, clock: { ...systemClock, now: () => nowMs } });
  await using worker = await sleeper(proxy);
  for (const n of [1, 2, 3]) {
    await asleep(worker);
    const from = proxy.statements.length;
    const { id } = await client.enqueue(job, { n });
    await endOf(client, id);
    expect(callsOfClients(proxy, from).filter((name) => name !== "job")).toEqual(["enqueue_one"]);
    nowMs += 20;
  }
});

test("a job of a transaction that saw nobody asleep is found when it commits, though nothing tells of it", async () => {
  const proxy = await TcpProxy.before(db.url);
  const session = new pg.Client(db.url);
  await session.connect();
  await session.query("begin");
  const { rows } = await session.query("select fairmill.enqueue_one_v1('job', '{\"n\": 1}') as id");
  expect(Number(rows[0].id)).toBeGreaterThan(0);
  // Its polls and its rounds of upkeep never come.
  await using _ = await sleeper(proxy, { clock: withoutTimersOf(4_200) });
  await waitUntil("it looks again and again while the transaction runs", () => proxy.count("news_v1") >= 10);
  await session.query("commit");
  await session.end();
  await using client = createClient({ databaseUrl: db.url });
  expect(await endOf(client, String(rows[0].id))).toMatchObject({ state: "done" });
});

test("a job with a lower id than the one that runs is heard of, too", async () => {
  const proxy = await TcpProxy.before(db.url);
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  await using worker = await sleeper(proxy, { concurrency: 1, prefetch: 0 }, async ({ input }) => {
    if (input.n === 1) await held;
  });
  await using client = createClient({ databaseUrl: db.url });
  const low = await enqueueLate();
  await begun(client, worker, job, { n: 1 });
  await db.query("update fairmill.worker set listening = true");
  const woken = proxy.heard("!lane");
  await low.commit();
  await woken;
  goOn();
  expect(await endOf(client, low.id)).toMatchObject({ state: "done" });
});

test("a job that arrives while a claim is under way is not forgotten by its answer", async () => {
  const proxy = await TcpProxy.before(db.url);
  await using worker = await sleeper(proxy);
  await using client = createClient({ databaseUrl: db.url });
  const low = await enqueueLate();
  await endOf(client, (await client.enqueue(job, { n: 0 })).id);
  await asleep(worker);
  const gate = new pg.Client(db.url);
  await gate.connect();
  await gate.query("begin; lock table fairmill.queue");
  const { id } = await client.enqueue(job, { n: 1 });
  await waitUntil("the claim is made, and what goes with it waits", async () => {
    const waiting = await db.query(
      "select from pg_stat_activity where query like '%news_v1%' and wait_event_type = 'Lock'",
    );
    return waiting.length === 1;
  });
  // Its handler does not wait for what goes with the claim.
  expect(await endOf(client, id)).toMatchObject({ state: "done" });
  const woken = proxy.heard("!lane");
  await low.commit();
  await woken;
  await gate.query("commit");
  await gate.end();
  expect(await endOf(client, low.id)).toMatchObject({ state: "done" });
});

test("what is no lane only makes the worker look", async () => {
  const proxy = await TcpProxy.before(db.url);
  await using worker = await sleeper(proxy);
  const settled = eventOf(worker, "settled");
  await db.query('select fairmill.enqueue_many_v1(\'[{"kind": "job", "payload": {"n": 1}}]\', wake => false)');
  await db.query("select pg_notify('fairmill', '!lane {no json')");
  await settled;
});
