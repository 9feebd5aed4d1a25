// Limits of a provider for the whole fleet, seen by the provider: a real HTTP server that logs what arrives.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { doneOf, enqueue, startFleet, startProviderWorker } from "./fleet.js";
import { mostWithin, startSimulator } from "./simulator.js";

const database = useDatabase();
const WORKERS = 8;
const JOBS = 160;

// How much of it is used depends on the machine: `npm run bench -- --only providers`.
test("B19: eight workers, 20 calls a second and 5 in flight: the provider never sees more", async () => {
  const simulator = await startSimulator();
  await simulator.set({ pixian: { latencyMs: 40 } });
  const workers = await startFleet(WORKERS, {
    url: database.url,
    simulator: simulator.url,
    providers: [{ name: "pixian", limits: { perSecond: 20, inFlight: 5 } }],
    options: { concurrency: 10 },
  });
  await enqueue(database.url, "call", JOBS);
  await waitUntil("all jobs are done", async () => (await doneOf(database)) === JOBS, 120_000);
  const arrivals = await simulator.log("pixian");
  expect(arrivals).toHaveLength(JOBS);
  expect(Math.max(...arrivals.map(({ running }) => running))).toBeLessThanOrEqual(5);
  expect(mostWithin(arrivals, 1_000)).toBeLessThanOrEqual(20);
  // Each had a part of it.
  expect(workers.filter(({ messages }) => messages.some((one) => one.calling !== undefined))).toHaveLength(WORKERS);
  await Promise.all(workers.map((worker) => worker.stop()));
  expect(await database.query("select * from fairmill.provider_share")).toEqual([]);
  // What it took is on record, for people and for metrics.
  const [minute] = await database.query(
    "select sum(calls)::int as calls, sum(failures)::int as failures from fairmill.provider_minute where provider = 'pixian'",
  );
  expect(minute).toEqual({ calls: JOBS, failures: 0 });
  const [sample] = await database.query<{ count: number; mean: number }>(
    "select sum(count)::int as count, sum(sum) / sum(count) as mean from fairmill.metric_sample where name = 'api_latency' and label = 'pixian'",
  );
  expect(sample!.count).toBe(JOBS);
  expect(sample!.mean).toBeGreaterThan(0.035);
}, 150_000);

test("B19: calls in flight without a pace: never more, and the permits go round among all workers", async () => {
  const simulator = await startSimulator();
  await simulator.set({ pixian: { latencyMs: 200 } });
  await enqueue(database.url, "call", 150);
  const workers = await startFleet(4, {
    url: database.url,
    simulator: simulator.url,
    providers: [{ name: "pixian", limits: { inFlight: 3 } }],
    options: { concurrency: 5 },
  });
  await waitUntil("all jobs are done", async () => (await doneOf(database)) === 150);
  const arrivals = await simulator.log("pixian");
  expect(Math.max(...arrivals.map(({ running }) => running))).toBe(3);
  expect(workers.filter(({ messages }) => messages.some((one) => one.calling !== undefined))).toHaveLength(4);
  await Promise.all(workers.map((worker) => worker.stop()));
});

test("B19 P3: the permits of a killed worker come back when its lease is over", async () => {
  const simulator = await startSimulator();
  await simulator.set({ pixian: { hangs: true } });
  const settings = {
    url: database.url,
    simulator: simulator.url,
    providers: [{ name: "pixian", limits: { inFlight: 2 }, timeout: "60s" as const }],
    options: { lease: "2s" as const, concurrency: 4 },
  };
  await enqueue(database.url, "call", 4);
  const killed = await startProviderWorker(settings);
  await waitUntil("both permits are used", async () => (await simulator.log("pixian")).length === 2);
  const other = await startProviderWorker(settings);
  await killed.kill();
  await simulator.set({ pixian: { latencyMs: 5 } });
  await waitUntil("the others are done by the other worker", async () => (await doneOf(database)) === 4);
  const arrivals = await simulator.log("pixian");
  expect(Math.max(...arrivals.map(({ running }) => running))).toBeLessThanOrEqual(2);
  await other.stop();
});
