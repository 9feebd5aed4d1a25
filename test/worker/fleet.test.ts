// Real worker processes on a real PostgreSQL, killed, stopped and restarted: nothing is lost, nothing is settled twice.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { claimNo } from "../support/lease-no.js";
import { startWorkerProcess, type WorkerProcess } from "../support/processes.js";
import { endsOf, installWitness, readWitness } from "../support/transitions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const slow = defineJob<{ ms: number }>({ kind: "slow" });
const held = defineJob({ kind: "held" });
const blocking = defineJob<{ ms: number }>({ kind: "blocking" });
const poison = defineJob({ kind: "poison" });

const left = async () => Number((await db.query<{ n: string }>("select count(*) as n from fairmill.job"))[0]!.n);
const ended = async (state: string) =>
  Number(
    (await db.query<{ n: string }>("select count(*) as n from fairmill.job_history where state = $1", [state]))[0]!.n,
  );

/** Long enough for a heartbeat to be in time on a machine that has much else to do. */
const LEASE_MS = 1_500;

/** Each finds full hands: four workers with fifteen jobs. */
const KILLS = 10;

test("A1 A12: four worker processes killed and restarted at random settle every one of 2,000 jobs or more once and lose none", async () => {
  const random = dice(newSeed());
  const client = createClient({ databaseUrl: db.url });
  await installWitness(db.pool);
  let kills = 0;
  let jobs = 0;
  // So many that the last kill still finds work, however long a process takes to start.
  const feeding = (async () => {
    while (kills < KILLS || jobs < 2_000) {
      await waitUntil("there is room", async () => (await left()) < 1_000, 120_000);
      const items = Array.from({ length: 500 }, (_, n) => ({ input: { ms: n % 500 }, tenant: `t${n % 7}` }));
      jobs += (await client.enqueueMany(slow, items)).length;
    }
  })();
  // A job that is in hand when its worker dies counts a crash: with kills this frequent the allowance must not be what ends it.
  const start = () => startWorkerProcess(db.url, ["slow"], { lease: LEASE_MS, concurrency: 15, crashesMax: 1000 });
  const fleet: WorkerProcess[] = await Promise.all([start(), start(), start(), start()]);
  for (; kills < KILLS; kills++) {
    const victim = Math.floor(random() * fleet.length);
    await fleet[victim]!.kill();
    fleet[victim] = await start();
  }
  await feeding;
  await waitUntil("all jobs have ended", async () => (await left()) === 0, 120_000);
  await Promise.all(fleet.map((worker) => worker.stop()));
  await client.close();

  const seen = await readWitness(db.pool);
  expect(seen.size).toBe(jobs);
  expect([...seen.values()].filter((steps) => endsOf(steps) !== 1)).toEqual([]);
  expect(await ended("done")).toBe(jobs);
  const [crashed] = await db.query<{ n: number }>("select sum(crashes)::integer as n from fairmill.job_history");
  expect(crashed!.n).toBeGreaterThan(0);
  expect(fleet.flatMap((worker) => worker.messages.filter((message) => message.unhandled))).toEqual([]);
}, 600_000);

test("P3: a worker stopped for longer than its lease is refused when it goes on, and the second run stands", async () => {
  const client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(held, {});
  const first = await startWorkerProcess(db.url, ["held"], { lease: LEASE_MS });
  await first.heard((message) => message.held === id, "the first run");
  first.signal("SIGSTOP");

  const second = await startWorkerProcess(db.url, ["held"], { lease: LEASE_MS });
  await second.heard((message) => message.held === id, "the second run");
  first.tell("let go");
  first.signal("SIGCONT");
  await first.heard((message) => message.refused?.includes(id) === true, "the refusal");
  expect((await client.job(id))?.state).toBe("running");
  second.tell("let go");
  expect(await client.result(id)).toEqual({ by: second.child.pid });

  const job = await client.job(id);
  expect(job).toMatchObject({ attempt: 2, crashes: 1, leaseNo: claimNo(2) });
  expect(job!.failures).toMatchObject([{ attempt: 1, outcome: "crashed", error: { code: "FAIRMILL_WORKER_LOST" } }]);
  await Promise.all([first.stop(), second.stop()]);
  await client.close();
});

test("A7 P9: the job of a killed worker is taken over by a living one within the lease and five seconds", async () => {
  const client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(held, {});
  const first = await startWorkerProcess(db.url, ["held"], { lease: LEASE_MS });
  await first.heard((message) => message.held === id, "the first run");
  const second = await startWorkerProcess(db.url, ["held"], { lease: LEASE_MS });
  await first.kill();
  const killedAtMs = performance.now();
  await second.heard((message) => message.held === id && message.attempt === 2, "the takeover");
  expect(performance.now() - killedAtMs).toBeLessThan(LEASE_MS + 5_000);
  second.tell("let go");
  expect(await client.result(id)).toEqual({ by: second.child.pid });
  await second.stop();
  await client.close();
});

test("A7: where no worker lives, SQL alone gives a dead worker's job back", async () => {
  const client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(held, {});
  const worker = await startWorkerProcess(db.url, ["held"], { lease: LEASE_MS });
  await worker.heard((message) => message.held === id, "the run");
  await worker.kill();
  await waitUntil("the job is ready again", async () => {
    await db.query("select fairmill.tick_upkeep_v1()");
    return (await client.job(id))!.state === "ready";
  });
  await client.close();
});

test("a job that kills its process three times ends as dead, and the jobs beside it are not blamed", async () => {
  const client = createClient({ databaseUrl: db.url });
  const guilty = await client.enqueue(poison, {});
  // Claimed together with the poison, in hand whenever it strikes.
  const innocents = await client.enqueueMany(
    slow,
    Array.from({ length: 5 }, () => ({ input: { ms: 50 } })),
  );
  let deaths = 0;
  const isOver = async () => (await left()) === 0;
  while (!(await isOver())) {
    const worker = await startWorkerProcess(db.url, ["poison", "slow"], { lease: LEASE_MS }).catch(() => undefined);
    if (await Promise.race([worker?.gone.then(() => false), waitUntil("all jobs have ended", isOver)]))
      await worker!.stop();
    else deaths++;
  }
  expect(deaths).toBe(3);
  expect(await client.job(guilty.id)).toMatchObject({
    state: "dead",
    crashes: 3,
    attempt: 3,
    error: { code: "FAIRMILL_POISON" },
  });
  for (const { id } of innocents) expect((await client.job(id))!.state).toBe("done");
  await client.close();
});

test("a handler that blocks the event loop for longer than the lease keeps its job: the heartbeat has a thread of its own", async () => {
  const client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(blocking, { ms: 4_000 });
  const first = await startWorkerProcess(db.url, ["blocking"], { lease: LEASE_MS, stall: "10s" });
  const second = await startWorkerProcess(db.url, ["blocking"], { lease: LEASE_MS, stall: "10s" });
  const result = (await client.result(id)) as { by: number };
  expect([first.child.pid, second.child.pid]).toContain(result.by);
  expect(await client.job(id)).toMatchObject({ attempt: 1, crashes: 0 });
  await Promise.all([first.stop(), second.stop()]);
  await client.close();
});

test("a process that hangs for longer than it may loses its jobs to others", async () => {
  const client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(blocking, { ms: 8_000 });
  const first = await startWorkerProcess(db.url, ["blocking"], { lease: LEASE_MS, stall: LEASE_MS });
  await first.heard((message) => message.held === id, "the first run");
  const second = await startWorkerProcess(db.url, ["blocking"], { lease: LEASE_MS, stall: "30s" });
  await second.heard((message) => message.held === id && message.attempt === 2, "the takeover");
  await first.kill();
  expect(await client.result(id)).toEqual({ by: second.child.pid });
  await second.stop();
  await client.close();
});
