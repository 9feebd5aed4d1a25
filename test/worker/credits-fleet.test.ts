// Credits across a fleet of real processes that are killed at random: what a job held is captured or given back, once.
import { CreditsExhaustedError, createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { dice, newSeed } from "../support/dice.js";
import { ACCOUNTS } from "../support/invariants.js";
import { startWorkerProcess, type WorkerProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const USERS = 40;
const flaky = defineJob<{ user: string; ms: number; end: string }>({
  kind: "flaky",
  credits: { account: ({ user }) => user, amount: ({ ms }) => 1 + ms },
});

const left = async () => (await db.query<{ n: number }>("select count(*)::integer as n from fairmill.job"))[0]!.n;

test("A6 B18 P4 I3: four workers killed at random while paid jobs run: each hold is captured or given back once, every account adds up", async () => {
  const random = dice(newSeed());
  await using client = createClient({ databaseUrl: db.url });
  const granted = new Map<string, number>();
  const give = async (user: string, amount: number) => {
    await client.grant(user, amount);
    granted.set(user, (granted.get(user) ?? 0) + amount);
  };
  for (let n = 0; n < USERS; n++) await give(`u${n}`, 300);
  // Few crashes are allowed: some jobs end as poison, and give back what they hold.
  const start = () => startWorkerProcess(db.url, ["flaky"], { lease: 600, concurrency: 20, crashesMax: 4 });
  const fleet: WorkerProcess[] = await Promise.all([start(), start(), start(), start()]);

  let kills = 0;
  const end = performance.now() + 90_000;
  let stored = 0;
  let refused = 0;
  const enqueuing = (async () => {
    for (let n = 0; n < 4_000 || (kills < 8 && performance.now() < end); n += 40) {
      await give(`u${(n / 40) % USERS}`, 20);
      const answers = await Promise.allSettled(
        Array.from({ length: 40 }, (_, i) =>
          client.enqueue(flaky, {
            user: `u${(n + i) % USERS}`,
            ms: (n + i) % 7,
            end: random() < 0.7 ? "done" : "dead",
          }),
        ),
      );
      for (const answer of answers) {
        if (answer.status === "fulfilled") stored++;
        else if (answer.reason instanceof CreditsExhaustedError) refused++;
        else throw answer.reason;
      }
      // A user who changed his mind.
      const [job] = await client.jobs({ state: "ready", limit: 1 });
      if (job) await client.cancel(job.id);
    }
  })();
  let isEnqueued = false;
  enqueuing.then(
    () => (isEnqueued = true),
    () => (isEnqueued = true),
  );
  let looks = 0;
  while ((!isEnqueued || (await left()) > 0) && performance.now() < end) {
    const victim = Math.floor(random() * fleet.length);
    await fleet[victim]!.kill();
    kills++;
    fleet[victim] = await start();
    looks++;
    expect(await db.query(ACCOUNTS)).toEqual([]);
  }
  await enqueuing;
  await waitUntil("all jobs have ended", async () => (await left()) === 0, 30_000);
  await Promise.all(fleet.map((worker) => worker.stop()));

  const states = await db.query<{ state: string; n: number }>(
    "select state, count(*)::integer as n from fairmill.job_history group by 1 order by 1",
  );
  console.log(
    `kills ${kills}, looks ${looks}, refused ${refused}, ${states.map(({ state, n }) => `${state} ${n}`).join(", ")}`,
  );
  expect(states.reduce((sum, { n }) => sum + n, 0)).toBe(stored);
  // Every job has a hold and one end of it, of the kind that its state says.
  const ends = await db.query<{ state: string; kinds: string; n: number }>(
    `select h.state, e.kinds, count(*)::integer as n from fairmill.job_history h
     left join (select job_id, string_agg(kind, ' ' order by id) as kinds from fairmill.credit_entry group by 1) e on e.job_id = h.id group by 1, 2 order by 1`,
  );
  expect(ends.map(({ state, kinds }) => [state, kinds])).toEqual(
    states.map(({ state }) => [state, state === "done" ? "hold capture" : "hold release"]),
  );
  expect(states.map(({ state }) => state)).toEqual(expect.arrayContaining(["dead", "done"]));
  for (let n = 0; n < USERS; n++) {
    const [spent] = await db.query<{ sum: number }>(
      "select coalesce(sum((payload ->> 'ms')::integer + 1), 0)::integer as sum from fairmill.job_history where payload ->> 'user' = $1 and state = 'done'",
      [`u${n}`],
    );
    expect(await client.balance(`u${n}`)).toEqual({ available: granted.get(`u${n}`)! - spent!.sum, held: 0 });
  }
  expect(kills).toBeGreaterThan(7);
}, 150_000);
