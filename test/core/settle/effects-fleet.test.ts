// Effects across a fleet of real processes that are killed and stopped at random: whatever happens to the runs, each job has its effects once.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { dice, newSeed } from "../../support/dice.js";
import { startWorkerProcess, type WorkerProcess } from "../../support/processes.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const KILLS = Number(process.env["TEST_KILLS"] ?? 8);
/** Long enough that every kill finds full hands, and that the machine does not spend its time on jobs that no kill meets. */
const MS_MAX = 800;
const left = async () => (await db.query<{ n: number }>("select count(*)::integer as n from fairmill.job"))[0]!.n;

/** Jobs of this kind while workers are killed with SIGKILL, and others stopped for longer than their lease. Returns the ids. */
async function runAmongKills(kind: string): Promise<string[]> {
  const random = dice(newSeed());
  await using client = createClient({ databaseUrl: db.url });
  const parent = defineJob<{ ms: number }>({ kind });
  const start = () => startWorkerProcess(db.url, [kind, "begotten"], { lease: 600, concurrency: 40, crashesMax: 1000 });
  const fleet: WorkerProcess[] = await Promise.all([start(), start(), start(), start()]);
  const ids: string[] = [];
  let kills = 0;
  let stops = 0;
  // Ends what hangs: on a busy machine a process takes ten seconds to start.
  const end = performance.now() + 300_000 + KILLS * 10_000;
  const feeding = (async () => {
    // So many that the last kill still finds work.
    while ((kills < KILLS && performance.now() < end) || ids.length < 2_000) {
      await waitUntil("there is room", async () => (await left()) < 1_000, 120_000);
      const stored = await client.enqueueMany(
        parent,
        Array.from({ length: 100 }, (_, n) => ({ input: { ms: Math.floor(random() * MS_MAX) }, tenant: `t${n % 5}` })),
      );
      for (const { id } of stored) ids.push(id);
    }
  })();
  while (kills < KILLS && performance.now() < end) {
    const [victim, stopped] = [Math.floor(random() * 4), Math.floor(random() * 4)];
    // Starting a process takes longer than a lease lasts.
    if (stopped !== victim) {
      fleet[stopped]!.signal("SIGSTOP");
      stops++;
    }
    await fleet[victim]!.kill();
    kills++;
    fleet[victim] = await start();
    if (stopped !== victim) fleet[stopped]!.signal("SIGCONT");
  }
  await feeding;
  await waitUntil("all jobs have ended", async () => (await left()) === 0, 120_000);
  await Promise.all(fleet.map((worker) => worker.stop()));
  const crashed = await db.query<{ n: number }>(
    "select coalesce(sum(crashes), 0)::integer as n from fairmill.job_history",
  );
  console.log(
    `${kind}: ${ids.length} jobs, ${kills} kills, ${stops} stops, ${crashed[0]!.n} runs lost with their worker`,
  );
  expect(kills).toBe(KILLS);
  expect(crashed[0]!.n).toBeGreaterThan(0);
  return ids;
}

const childrenOf = () =>
  db.query<{ parent: string; children: number }>(
    "select payload ->> 'parent' as parent, count(*)::integer as children from fairmill.job_history where kind = 'begotten' group by 1",
  );

test("P3: four workers killed and stopped at random: every job that asks for one child has one", async () => {
  const ids = await runAmongKills("begetting");
  const children = await childrenOf();
  expect(children.filter(({ children: count }) => count !== 1)).toEqual([]);
  expect(new Set(children.map(({ parent }) => parent))).toEqual(new Set(ids));
}, 600_000);

test("P3: the same with ctx.complete(tx): every job has one row in the application's table, and one child", async () => {
  // Without a constraint: a second row would be seen.
  await db.query("create table public.booking (job bigint not null, attempt integer not null)");
  const ids = await runAmongKills("booking");
  const rows = await db.query<{ job: string; n: number }>(
    "select job, count(*)::integer as n from public.booking group by 1",
  );
  expect(rows.filter(({ n }) => n !== 1)).toEqual([]);
  expect(new Set(rows.map(({ job }) => job))).toEqual(new Set(ids));
  const children = await childrenOf();
  expect(children.filter(({ children: count }) => count !== 1)).toEqual([]);
  expect(children).toHaveLength(ids.length);
  expect(await db.query("select from fairmill.job_history where state <> 'done'")).toEqual([]);
  await db.query("drop table public.booking");
}, 600_000);
