// What calls cost, under workers that are killed at random: the records agree with the provider's bill, but for calls that were cut in the middle, which are listed.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { waitUntil } from "../support/wait.js";
import { doneOf, enqueue, type ProviderWorker, startProviderWorker } from "./fleet.js";
import { startSimulator } from "./simulator.js";

const database = useDatabase();
const JOBS = 120;
const KILLS = 6;

test("B21 C1: workers are killed while they pay: every paid call is on record, none is paid twice once its step is stored", async () => {
  const seed = newSeed();
  const random = dice(seed);
  const simulator = await startSimulator();
  await simulator.set({ gemini: { latencyMs: 30 } });
  const settings = {
    url: database.url,
    simulator: simulator.url,
    providers: [{ name: "gemini", cost: 0.25, limits: { inFlight: 8 } }],
    options: { concurrency: 4, lease: "1s" as const, crashesMax: 50 },
    job: { retry: { attempts: 3 } },
  };
  await enqueue(database.url, "paid", JOBS / 2, "acme");
  await enqueue(database.url, "paid", JOBS / 2, "globex");
  const workers: ProviderWorker[] = await Promise.all([0, 1, 2].map(() => startProviderWorker(settings)));
  for (let kill = 0; kill < KILLS; kill++) {
    const billed = (await simulator.log("gemini")).length;
    await waitUntil("calls are under way", async () => {
      const { length } = await simulator.log("gemini");
      return length > billed + 3 || (await doneOf(database)) === JOBS;
    });
    const victim = Math.floor(random() * workers.length);
    await workers[victim]!.kill();
    workers[victim] = await startProviderWorker(settings);
  }
  await waitUntil(`all jobs are done (seed ${seed})`, async () => (await doneOf(database)) === JOBS);
  await Promise.all(workers.map((worker) => worker.stop()));

  const charges = await database.query<{ state: string; job: string; cost: number }>(
    "select state, job_id::text as job, cost::float8 as cost from fairmill.provider_charge",
  );
  const paid = charges.filter(({ state }) => state === "paid");
  const cut = charges.filter(({ state }) => state === "begun" || state === "unknown");
  const billed = (await simulator.log("gemini")).filter((one) => one.billed);
  // What is known to be paid was billed, and what was billed is on record: the difference are calls that were cut.
  expect(paid.length).toBeLessThanOrEqual(billed.length);
  expect(billed.length).toBeLessThanOrEqual(paid.length + cut.length);
  const onRecord = new Map<string, number>();
  for (const { job } of [...paid, ...cut]) onRecord.set(job, (onRecord.get(job) ?? 0) + 1);
  const billedOf = new Map<string, number>();
  for (const { job } of billed) billedOf.set(job!, (billedOf.get(job!) ?? 0) + 1);
  for (const [job, times] of billedOf) expect(onRecord.get(job) ?? 0, `seed ${seed}`).toBeGreaterThanOrEqual(times);
  // The step was stored after its call: no job has paid again after that.
  const steps = await database.query<{ job: string }>(
    "select job_id::text as job from fairmill.step where name = 'paid' and finished_at is not null",
  );
  expect(steps).toHaveLength(JOBS);
  const [late] = await database.query<{ count: number }>(`select count(*)::int as count from fairmill.provider_charge c
    join fairmill.step s on s.job_id = c.job_id and s.name = 'paid' where c.begun_at > s.finished_at`);
  expect(late!.count).toBe(0);
  // The sums of the day are those of the charges, by tenant and kind.
  const sums = await database.query(
    "select tenant, kind, provider, currency, calls::int as calls, cost::float8 as cost from fairmill.provider_cost order by tenant",
  );
  const expected =
    await database.query(`select tenant, kind, provider, currency, count(*) filter (where state <> 'void')::int as calls,
    sum(cost)::float8 as cost from fairmill.provider_charge group by 1, 2, 3, 4 order by tenant`);
  expect(sums).toEqual(expected);
  expect(sums).toHaveLength(2);
});
