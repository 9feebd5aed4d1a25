// Credits across a fleet of real processes that are killed at random, and across crashes of PostgreSQL: what a job held is captured or given
// back, once. TEST_KILLS and TEST_CRASHES say how often: the whole programme is TEST_KILLS=200 TEST_CRASHES=10.
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreditsExhaustedError, createClient, DatabaseError, defineJob } from "fairmill";
import type pg from "pg";
import { expect, test } from "vitest";
import { startEmbedded } from "../../dist/embedded/index.js";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { ACCOUNTS, checkInvariants } from "../support/invariants.js";
import { openPool } from "../support/open-pool.js";
import { startWorkerProcess, type WorkerProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const USERS = 40;
const KILLS = Number(process.env["TEST_KILLS"] ?? 8);
const CRASHES = Number(process.env["TEST_CRASHES"] ?? 2);
const BACKLOG_MAX = 2_000;
const flaky = defineJob<{ user: string; ms: number; end: string }>({
  kind: "flaky",
  credits: { account: ({ user }) => user, amount: ({ ms }) => 1 + ms },
});

type Ask = <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Whatever is sent under a key is sent until it is answered: a database that crashes has forgotten nothing that it acknowledged. */
async function surely<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      // Spares the machine.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Enqueues paid jobs while workers are killed; `crash` is called so many times in between. Then everything must add up. */
async function chaos(url: string, ask: Ask, crashes: number, crash: () => Promise<void>): Promise<void> {
  const random = dice(newSeed());
  await using client = createClient({ databaseUrl: url });
  const granted = new Map<string, number>();
  let grants = 0;
  const give = async (user: string, amount: number) => {
    const idempotencyKey = `grant ${grants++}`;
    await surely(() => client.credits.grant(user, amount, { idempotencyKey }));
    granted.set(user, (granted.get(user) ?? 0) + amount);
  };
  const left = async () => (await ask<{ n: number }>("select count(*)::integer as n from fairmill.job"))[0]!.n;
  for (let n = 0; n < USERS; n++) await give(`u${n}`, 300);
  // Few crashes are allowed: some jobs end as poison, and give back what they hold.
  const start = () => startWorkerProcess(url, ["flaky"], { lease: 600, concurrency: 20, crashesMax: 4 });
  const fleet: WorkerProcess[] = await Promise.all([start(), start(), start(), start()]);

  let kills = 0;
  let crashed = 0;
  let stored = 0;
  let refused = 0;
  const end = performance.now() + 90_000 + (KILLS + 10 * crashes) * 6_000;
  const isFeeding = () => kills < KILLS && performance.now() < end;
  const enqueuing = (async () => {
    for (let n = 0; n < 2_000 || isFeeding(); n += 40) {
      await waitUntil(
        "there is room",
        async () =>
          (await surely(() => client.jobs.list({ state: "ready", limit: BACKLOG_MAX / 10 }))).length <
            BACKLOG_MAX / 10 || !isFeeding(),
        60_000,
      );
      await give(`u${(n / 40) % USERS}`, 20);
      const answers = await Promise.allSettled(
        Array.from({ length: 40 }, (_, i) => {
          const input = { user: `u${(n + i) % USERS}`, ms: (n + i) % 7, end: random() < 0.7 ? "done" : "dead" };
          return surely(() => client.enqueue(flaky, input, { idempotencyKey: `job ${n + i}` }));
        }),
      );
      for (const answer of answers) {
        if (answer.status === "fulfilled") stored++;
        else if (answer.reason instanceof CreditsExhaustedError) refused++;
        else throw answer.reason;
      }
      // A request that is taken back.
      const [job] = await surely(() => client.jobs.list({ state: "ready", limit: 1 }));
      if (job) await surely(() => client.cancel(job.id));
    }
  })();
  // Told below, where it is awaited.
  enqueuing.catch(() => {});
  let looks = 0;
  while (isFeeding()) {
    if (crashed < crashes && kills >= ((crashed + 1) * KILLS) / (crashes + 1)) {
      await crash();
      crashed++;
    }
    const victim = Math.floor(random() * fleet.length);
    await fleet[victim]!.kill();
    kills++;
    fleet[victim] = await start();
    looks++;
    expect(await ask(ACCOUNTS)).toEqual([]);
  }
  await enqueuing;
  await waitUntil("all jobs have ended", async () => (await left()) === 0);
  await Promise.all(fleet.map((worker) => worker.stop()));

  const states = await ask<{ state: string; n: number }>(
    "select state, count(*)::integer as n from fairmill.job_history group by 1 order by 1",
  );
  const lost = await ask<{ n: number }>("select sum(crashes)::integer as n from fairmill.job_history");
  console.log(
    `kills ${kills}, crashes of PostgreSQL ${crashed}, looks ${looks}, runs lost ${lost[0]!.n}, refused ${refused}, ${states.map(({ state, n }) => `${state} ${n}`).join(", ")}`,
  );
  expect(states.reduce((sum, { n }) => sum + n, 0)).toBe(stored);
  // Every job has a hold and one end of it, of the kind that its state says.
  const ends = await ask<{ state: string; kinds: string; n: number }>(
    `select h.state, e.kinds, count(*)::integer as n from fairmill.job_history h
     left join (select job_id, string_agg(kind, ' ' order by id) as kinds from fairmill.credit_entry group by 1) e on e.job_id = h.id group by 1, 2 order by 1`,
  );
  expect(ends.map(({ state, kinds }) => [state, kinds])).toEqual(
    states.map(({ state }) => [state, state === "done" ? "reservation capture" : "reservation release"]),
  );
  expect(states.map(({ state }) => state)).toEqual(expect.arrayContaining(["dead", "done"]));
  for (let n = 0; n < USERS; n++) {
    const [spent] = await ask<{ sum: number }>(
      "select coalesce(sum((payload ->> 'ms')::integer + 1), 0)::integer as sum from fairmill.job_history where payload ->> 'user' = $1 and state = 'done'",
      [`u${n}`],
    );
    expect(await client.credits.balance(`u${n}`)).toEqual({
      available: granted.get(`u${n}`)! - spent!.sum,
      reserved: 0,
    });
  }
  expect({ kills, crashed }).toEqual({ kills: KILLS, crashed: crashes });
}

test("A6 B18 P4 I3: four workers killed at random while paid jobs run: each hold is captured or given back once, every account adds up", async () => {
  await chaos(
    db.url,
    (text, values) => db.query(text, values),
    0,
    async () => {},
  );
}, 2_400_000);

test("P1 P4 I3: the same while PostgreSQL crashes: nothing that was acknowledged is lost, and every account adds up", async () => {
  const folder = await mkdtemp(join(tmpdir(), "fairmill-credits-"));
  await chmod(folder, 0o711);
  const server = await startEmbedded({ dataDir: join(folder, "postgres"), durable: true });
  const pool = openPool({ connectionString: server.url });
  try {
    await using client = createClient({ databaseUrl: server.url });
    await client.migrate();
    const ask: Ask = async (text, values) => (await pool.query(text, values)).rows as never;
    await chaos(server.url, ask, CRASHES, async () => {
      await server.stop("immediate");
      await server.restart();
      // Connections that broke are noticed one by one.
      await waitUntil("it answers", () =>
        ask("select 1").then(
          () => true,
          () => false,
        ),
      );
    });
    await checkInvariants(pool);
  } finally {
    await pool.end();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}, 2_400_000);
