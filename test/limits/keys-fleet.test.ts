// Slots of keys across a fleet of real processes that are killed at random: never two where one may run, and no job stays blocked.
import { createClient, defineJob } from "fairmill";
import pg from "pg";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { observeRunning } from "../support/observer.js";
import { startWorkerProcess, type WorkerProcess } from "../support/processes.js";
import { endsOf, installWitness, mostRunning, readWitness } from "../support/transitions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const limits = { active: 1 } as const;
const perUser = defineJob<{ user: string; ms?: number }>({ kind: "limited", key: ({ user }) => user, limits });
const slow = defineJob<{ ms: number }>({ kind: "slow" });

const left = async () => (await db.query<{ n: number }>("select count(*)::integer as n from fairmill.job"))[0]!.n;

test("B5 P6 I6: one active job per user, 500 users with 40 jobs each, four workers killed at random: never two at once, no job left blocked", async () => {
  const random = dice(newSeed());
  const client = createClient({ databaseUrl: db.url });
  await installWitness(db.pool);
  // A job that runs when its worker dies counts a crash: with kills this frequent the allowance must not be what ends it.
  const start = () =>
    startWorkerProcess(db.url, ["limited"], { lease: 600, concurrency: 25, crashesMax: 1000 }, limits);
  const observer = await observeRunning(db.url, "limit_key");
  // Half of the jobs are there before the fleet, half come while it works and dies.
  const put = (round: number) =>
    client.enqueueMany(
      perUser,
      Array.from({ length: 1_000 }, (_, n) => ({
        input: { user: `u${n % 500}`, ms: n % 3 },
        tenant: `t${n % 5}`,
        priority: (n + round) % 2,
      })),
    );
  for (let round = 0; round < 10; round++) await put(round);
  const fleet: WorkerProcess[] = await Promise.all([start(), start(), start(), start()]);
  const more = (async () => {
    for (let round = 0; round < 10; round++) await put(round);
  })();
  let kills = 0;
  const end = performance.now() + 120_000;
  while ((await left()) > 0 && performance.now() < end) {
    const victim = Math.floor(random() * fleet.length);
    await fleet[victim]!.kill();
    kills++;
    fleet[victim] = await start();
  }
  await more;
  await waitUntil("all jobs are done", async () => (await left()) === 0);
  await observer.stop();
  await Promise.all(fleet.map((worker) => worker.stop()));
  await client.close();
  console.log(`kills ${kills}, looks ${observer.looks}`);

  const seen = await readWitness(db.pool);
  expect(seen.size).toBe(20_000);
  expect([...seen.values()].filter((steps) => endsOf(steps) !== 1)).toEqual([]);
  const most = await mostRunning(db.pool, "limit_key");
  expect(most.size).toBe(500);
  expect([...most].filter(([, count]) => count !== 1)).toEqual([]);
  expect([...observer.most].filter(([name, count]) => name !== null && count > 1)).toEqual([]);
  expect(kills).toBeGreaterThan(2);
});

test("B5: a job of a key that was enqueued in a long transaction starts within a second of its commit, although the whole fleet is busy", async () => {
  const client = createClient({ databaseUrl: db.url });
  const busy = (count: number) =>
    client.enqueueMany(
      slow,
      Array.from({ length: count }, () => ({ input: { ms: 20 } })),
    );
  await busy(3_000);
  const fleet = await Promise.all(
    [1, 2].map(() => startWorkerProcess(db.url, ["slow", "limited"], { concurrency: 5 }, limits)),
  );
  await waitUntil(
    "no worker wants to be woken",
    async () =>
      (await db.query("select from fairmill.worker where listening")).length === 0 &&
      (await db.query("select from fairmill.job_history limit 200")).length === 200,
  );
  const tx = new pg.Client(db.url);
  await tx.connect();
  await tx.query("begin");
  const { id } = await client.in(tx).enqueue(perUser, { user: "u1", ms: 0 }, { tenant: "acme" });
  // Others come and go meanwhile: when the transaction commits, everybody has seen higher ids.
  const before = (await db.query("select from fairmill.job_history")).length;
  await busy(500);
  await waitUntil(
    "others went on",
    async () => (await db.query("select from fairmill.job_history")).length > before + 300,
  );
  expect(await client.job(id)).toBeUndefined();
  await tx.query("commit");
  await tx.end();
  await waitUntil("it is done", async () => (await client.job(id))?.state === "done");
  // While others that came later still wait.
  expect((await db.query("select from fairmill.job where state = 'ready'")).length).toBeGreaterThan(100);
  await db.query("delete from fairmill.job where state = 'ready'");
  await Promise.all(fleet.map((worker) => worker.stop()));
  await client.close();
});

test("B5: a place that a worker frees while it claims no more wakes another one that sleeps", async () => {
  const client = createClient({ databaseUrl: db.url });
  const start = () => startWorkerProcess(db.url, ["limited"], { poll: "1h" }, limits);
  const first = await start();
  const long = await client.enqueue(perUser, { user: "u1" });
  await waitUntil("it runs", async () => (await client.job(long.id))!.state === "running");
  const next = await client.enqueue(perUser, { user: "u1", ms: 0 });
  expect((await client.job(next.id))!.state).toBe("blocked");
  const second = await start();
  await waitUntil(
    "the other one sleeps",
    async () =>
      (
        await db.query("select from fairmill.worker where id = any ($1) and listening", [
          second.messages.flatMap(({ started }) => started ?? []),
        ])
      ).length === 1,
  );
  const stopped = first.stop();
  first.tell("let go");
  // No worker polls.
  expect(await client.result(next.id, { timeout: "60s" })).toEqual({ by: second.child.pid });
  await stopped;
  await second.stop();
  await client.close();
});
