// E3 P8 across a fleet of real processes that are killed at random: no node begins early, every flow is over, each calls back once.
import { createClient } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { startWorkerProcess, type WorkerProcess } from "../support/processes.js";
import { raceFlow } from "../support/race-flow.mjs";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const FLOWS = Number(process.env["TEST_FLOWS"] ?? 300);

const left = async () => (await db.query<{ n: number }>("select count(*)::integer as n from fairmill.job"))[0]!.n;

test("E1 E3 P8: flows whose workers are killed at random, with jobs that a rate holds back: none early, none missing, none doubled", async () => {
  const random = dice(newSeed());
  await using client = createClient({ databaseUrl: db.url });
  const start = () =>
    startWorkerProcess(db.url, ["race", "part", "over"], { lease: 700, concurrency: 20, crashesMax: 100 });
  const fleet: WorkerProcess[] = await Promise.all([start(), start(), start(), start()]);
  const starting = (async () => {
    for (let n = 0; n < FLOWS; n++) await client.flows.start(raceFlow, { n });
  })();
  let isStarted = false;
  starting.then(
    () => (isStarted = true),
    () => (isStarted = true),
  );
  let kills = 0;
  const end = performance.now() + 90_000;
  while ((!isStarted || (await left()) > 0 || kills < 6) && performance.now() < end) {
    const victim = Math.floor(random() * fleet.length);
    await fleet[victim]!.kill();
    kills++;
    fleet[victim] = await start();
  }
  await starting;
  await waitUntil("all jobs have ended", async () => (await left()) === 0);
  await Promise.all(fleet.map((worker) => worker.stop()));

  const [row] = await db.query<{ jobs: number; crashes: number; throttled: number }>(
    "select count(*)::integer as jobs, sum(crashes)::integer as crashes, sum(rate_limited_times)::integer as throttled from fairmill.job_history",
  );
  console.log(JSON.stringify({ kills, ...row }));
  expect(await db.query("select name, state from fairmill.batch where ended_at is null")).toEqual([]);
  const early = await db.query(
    `select n.id from fairmill.batch n join fairmill.batch_edge e on e.after = n.id join fairmill.job_history m on m.batch = e.before where m.ended_at > n.started_at`,
  );
  expect(early).toEqual([]);
  // Every flow has its parts, as many as its function asked for in the one run that was settled, and has called back once.
  const flows = await db.query<{ n: number; parts: number; calls: number; of: { parts: number } }>(
    `select (h.payload ->> 'n')::integer as n, h.result -> 'of' as of,
       (select count(*)::integer from fairmill.job_history p where p.kind = 'part' and p.payload -> 'n' = h.payload -> 'n') as parts,
       (select count(*)::integer from fairmill.job_history c where c.kind = 'over' and c.payload -> 'n' = h.payload -> 'n') as calls
     from fairmill.job_history h where h.kind = 'race/next' order by 1`,
  );
  expect(flows.map(({ n }) => n)).toEqual(Array.from({ length: FLOWS }, (_, n) => n));
  for (const { n, parts, calls, of } of flows)
    expect([n, parts, calls, of.parts]).toEqual([n, 1 + (n % 3), 1, 1 + (n % 3)]);
  expect(kills).toBeGreaterThan(5);
});
