// A provider that is down, or takes no more, and a fleet that calls it: the breaker is one for all workers, and jobs wait in the queue, not in handlers.
import { createClient } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { doneOf, enqueue, startFleet, startProviderWorker } from "./fleet.js";
import { startSimulator } from "./simulator.js";

const database = useDatabase();

/** An outage of a minute, in a twentieth of the time. */
const BREAKER = { failureRate: 0.5, minCalls: 6, window: "5s", openFor: "1500ms" } as const;
const JOB = { retry: { attempts: 20 } };

const eventsOf = (provider: string) =>
  database.query<{ event: string; worker: string }>(
    "select event, worker from fairmill.provider_event where provider = $1 order by id",
    [provider],
  );
const count = async (provider: string, event: string) =>
  (await eventsOf(provider)).filter((one) => one.event === event).length;
const runningNow = async () =>
  (await database.query("select 1 from fairmill.job where kind = 'call' and state = 'running'")).length;
const breakerOf = async (name: string) =>
  (await database.query<{ breaker: string }>("select breaker from fairmill.provider where name = $1", [name]))[0]
    ?.breaker;

async function chain(openFor: `${number}ms` = "1500ms") {
  const simulator = await startSimulator();
  const settings = {
    url: database.url,
    simulator: simulator.url,
    providers: [
      { name: "gemini", breaker: { ...BREAKER, openFor } },
      { name: "second", breaker: BREAKER },
    ],
    options: { concurrency: 4 },
    job: JOB,
  };
  return { simulator, settings };
}

test("B14: the first provider is down: the fallback takes over, the breaker opens once for eight workers, and closes by itself", async () => {
  const { simulator, settings } = await chain("3000ms");
  await simulator.set({ gemini: { status: 503 }, second: { latencyMs: 20 } });
  const workers = await startFleet(8, settings);
  await enqueue(database.url, "call", 200);
  await waitUntil("the breaker has opened", async () => (await count("gemini", "tripped")) > 0);
  await waitUntil("work goes on", async () => (await doneOf(database)) === 200);
  expect(await count("gemini", "tripped")).toBe(1);
  // No attempt was spent, although calls failed.
  expect(await database.query("select 1 from fairmill.job_history where attempt > 1 or failures is not null")).toEqual(
    [],
  );
  // While it is open, what is called is a probe, one at a time; a worker that hears no notification knows it after a second.
  const probes = await count("gemini", "probing");
  const tripped = (
    await database.query<{ at: Date }>(
      "select at from fairmill.provider_event where provider = 'gemini' and event = 'tripped'",
    )
  )[0]!.at.getTime();
  const late = (await simulator.log("gemini")).filter(({ at }) => at > tripped + 1_500);
  expect(late.length).toBeLessThanOrEqual(probes);

  await simulator.set({ gemini: {} });
  await waitUntil("it is back", async () => {
    await enqueue(database.url, "call", 1);
    return (await breakerOf("gemini")) === "closed";
  });
  expect(await count("gemini", "tripped")).toBe(1);
  expect(await count("gemini", "recovered")).toBe(1);
  await enqueue(database.url, "call", 20);
  await waitUntil("it is called again", async () => {
    const [last] = (await simulator.log("gemini")).slice(-1);
    return last?.status === 200 && (await runningNow()) === 0;
  });
  await Promise.all(workers.map((worker) => worker.stop()));
});

test("B14: while both are down no job of the kind runs, why names them, no worker is wanted for them, and it goes on by itself", async () => {
  const { simulator, settings } = await chain();
  await simulator.set({ gemini: { status: 500 }, second: { status: 500 } });
  const workers = await startFleet(3, settings);
  await enqueue(database.url, "call", 60);
  await waitUntil(
    "both are open, and no job runs",
    async () =>
      (await breakerOf("gemini")) !== "closed" &&
      (await breakerOf("second")) !== "closed" &&
      (await runningNow()) === 0,
  );
  // For as long as they are down, one job at most finds out, and the others wait in the queue.
  let most = 0;
  const before = (await simulator.log()).length;
  const tripped = await count("second", "probe-failed");
  await waitUntil("three probes have failed", async () => {
    most = Math.max(most, await runningNow());
    return (await count("second", "probe-failed")) >= tripped + 3;
  });
  const probes = (await simulator.log()).slice(before);
  expect(probes.length).toBeGreaterThan(0);
  // As the providers see it: a job may still be on its way back to the queue while the next one asks.
  expect(Math.max(...probes.map(({ running }) => running))).toBe(1);
  expect(most).toBeLessThan(6);
  const client = createClient({ databaseUrl: database.url });
  try {
    const asked = await waitUntil("both are closed", async () => {
      const [ready] = await database.query<{ id: string }>(
        "select id::text as id from fairmill.job where state = 'ready' limit 1",
      );
      const check = ready && (await client.why(ready.id))?.checks.find(({ check }) => check === "provider");
      return check?.passed === false ? check : undefined;
    });
    expect(asked.reason).toMatch(/The provider gemini is closed until .*The provider second is closed until/);
    // While both are closed, by the same look: when the time of one is over, its jobs are runnable until the first of them asks it.
    const backlog = await waitUntil("the backlog says so", async () => {
      const rows = await database.query<{ reason: string; jobs: number; closed: boolean }>(
        `select b.reason, b.jobs, (select bool_and(p.closed_until > now()) from fairmill.provider p) as closed
         from fairmill.backlog_v1() b where b.reason in ('provider closed', 'runnable')`,
      );
      return rows.some(({ reason, closed }) => closed && reason === "provider closed") ? rows : undefined;
    });
    expect(backlog.find(({ reason }) => reason === "runnable")?.jobs ?? 0).toBeLessThanOrEqual(1);
  } finally {
    await client.close();
  }
  await simulator.set({ gemini: {}, second: {} });
  await waitUntil("all is done", async () => (await doneOf(database)) === 60);
  await Promise.all(workers.map((worker) => worker.stop()));
});

test("B14: a prober that is killed is replaced when its time is over", async () => {
  const { simulator } = await chain();
  const settings = {
    url: database.url,
    simulator: simulator.url,
    providers: [
      { name: "gemini", timeout: "1500ms" as const, breaker: { ...BREAKER, minCalls: 2, openFor: "500ms" as const } },
    ],
    options: { concurrency: 2, lease: "2s" as const },
    job: JOB,
  };
  await simulator.set({ gemini: { status: 500 } });
  const workers = await startFleet(2, settings);
  await enqueue(database.url, "call", 6);
  await waitUntil("the breaker is open", async () => (await count("gemini", "tripped")) > 0);
  await simulator.set({ gemini: { hangs: true } });
  const prober = await waitUntil("one is probing a provider that hangs", async () => {
    const [row] = await database.query<{ probe_worker: string }>(
      "select probe_worker from fairmill.provider where breaker = 'half-open'",
    );
    return workers.find(({ id }) => id === row?.probe_worker);
  });
  await prober.kill();
  await simulator.set({ gemini: {} });
  await waitUntil("another probe closes the breaker", async () => (await count("gemini", "recovered")) === 1);
  const probing = (await eventsOf("gemini")).filter(({ event }) => event === "probing");
  expect(probing.at(-1)!.worker).not.toBe(prober.id);
  await waitUntil("all is done", async () => (await doneOf(database)) === 6);
  await Promise.all(workers.filter((worker) => worker !== prober).map((worker) => worker.stop()));
});

test("B19: a 429 with Retry-After stops eight workers at once, spends no attempt and trips no breaker", async () => {
  const simulator = await startSimulator();
  await simulator.set({ pixian: { latencyMs: 10 } });
  const workers = await startFleet(8, {
    url: database.url,
    simulator: simulator.url,
    providers: [{ name: "pixian", limits: { perSecond: 100 }, breaker: { ...BREAKER, minCalls: 2 } }],
    options: { concurrency: 4 },
    job: { retry: { attempts: 1 } },
  });
  await enqueue(database.url, "call", 500);
  await waitUntil("calls are made", async () => (await doneOf(database)) > 50);
  await simulator.set({ pixian: { status: 429, headers: { "retry-after": "3" } } });
  const limited = await waitUntil("it is closed", async () =>
    (
      await database.query<{ at: Date; until: Date }>(
        "select at, until from fairmill.provider_event where event = 'rate-limited'",
      )
    ).at(0),
  );
  await simulator.set({ pixian: { latencyMs: 10 } });
  expect(limited.until.getTime() - limited.at.getTime()).toBeGreaterThan(2_800);
  await waitUntil("all is done", async () => (await doneOf(database)) === 500);
  const during = (await simulator.log("pixian")).filter(
    ({ at }) => at > limited.at.getTime() + 150 && at < limited.until.getTime() - 50,
  );
  expect(during).toEqual([]);
  expect(await database.query("select 1 from fairmill.job_history where state <> 'done' or attempt > 1")).toEqual([]);
  expect((await eventsOf("pixian")).map(({ event }) => event)).toEqual(["rate-limited"]);
  expect(await breakerOf("pixian")).toBe("closed");
  await Promise.all(workers.map((worker) => worker.stop()));
});

test("B19: 401 trips no breaker, however often", async () => {
  const simulator = await startSimulator();
  await simulator.set({ pixian: { status: 401 } });
  const worker = await startProviderWorker({
    url: database.url,
    simulator: simulator.url,
    providers: [{ name: "pixian", breaker: { ...BREAKER, minCalls: 2 } }],
    job: { retry: { attempts: 1 } },
  });
  await enqueue(database.url, "call", 20);
  await waitUntil(
    "all have failed",
    async () => (await database.query("select 1 from fairmill.job_history where state = 'dead'")).length === 20,
  );
  expect(await eventsOf("pixian")).toEqual([]);
  const [dead] = await database.query<{ error: { code: string } }>("select error from fairmill.job_history limit 1");
  expect(dead!.error.code).toBe("FAIRMILL_PROVIDER_FAILED");
  await worker.stop();
});
