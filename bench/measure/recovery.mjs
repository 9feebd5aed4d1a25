// How long jobs stand still when the process that ran them is killed: a child of a supervisor, whose death is seen at once; and a supervisor, whose lease
// has to end before another host's takes over.
import { createClient } from "../../dist/index.js";
import { endless } from "../adapters/recovery/config.mjs";
import { forkChild, messageOf } from "../fleet.mjs";
import { median, now, sleep } from "../statistics.mjs";
import { fairmill } from "../systems.mjs";

const SUPERVISOR = new URL("../adapters/recovery/supervisor-process.mjs", import.meta.url);
const JOBS = 10;
const LEASE_MS = 5_000;
/** The promises. */
const CHILD_MS_MAX = 1_000;
const TAKEN_OVER_MS_MAX = LEASE_MS + 5_000;
const ROUNDS_MAX = 5;
const WAIT_MS_MAX = 60_000;

const CASES = [
  { name: "a child is killed, another one has room", places: 2 * JOBS, mostMs: CHILD_MS_MAX, run: killChild },
  { name: "a child is killed, all others are full", places: JOBS, mostMs: CHILD_MS_MAX, run: killChild },
  { name: "the supervisor is killed", places: JOBS, mostMs: TAKEN_OVER_MS_MAX, run: killSupervisor },
];

async function startSupervisor(bench, url, places) {
  const supervisor = forkChild(bench, SUPERVISOR);
  supervisor.send({ url, children: 2, places, lease: LEASE_MS });
  const { pids } = await messageOf(supervisor, (message) => message.pids !== undefined);
  return { supervisor, pids };
}

async function until(what, isSo) {
  const endMs = now() + WAIT_MS_MAX;
  for (;;) {
    const answer = await isSo();
    if (answer) return answer;
    if (now() > endMs) throw new Error(`Not within ${WAIT_MS_MAX / 1000} s: ${what}.`);
    await sleep(5);
  }
}

async function fill(url, jobs) {
  const client = createClient({ databaseUrl: url });
  await client.enqueueMany(
    endless,
    Array.from({ length: jobs }, () => ({ input: {} })),
  );
  await client.close();
}

const asker = (client) => async (text, values) => (await client.query(text, values)).rows;

/** Kills by `kill`, and says how long the jobs of these processes stood still: until the last of them had started again elsewhere. */
async function standstill(ask, pids, kill) {
  const lost = await ask("select job from public.started where pid = any ($1)", [pids]);
  const [{ at }] = await ask("select clock_timestamp() as at");
  kill();
  const again = await until("all jobs run again", async () => {
    const rows = await ask(
      `select extract(epoch from min(s.at) - $1)::float8 * 1000 as ms from public.started s
       where s.job = any ($2) and s.at > $1 and not s.pid = any ($3) group by s.job`,
      [at, lost.map(({ job }) => job), pids],
    );
    return rows.length === lost.length && rows;
  });
  return { jobs: lost.length, ms: Math.max(...again.map(({ ms }) => ms)) };
}

async function killChild(bench, ask, url, places) {
  const { supervisor, pids } = await startSupervisor(bench, url, places);
  await fill(url, 2 * JOBS);
  await until("all jobs run", async () => (await ask("select from public.started")).length === 2 * JOBS);
  const result = await standstill(ask, [pids[0]], () => process.kill(pids[0], "SIGKILL"));
  supervisor.kill("SIGKILL");
  return result;
}

async function killSupervisor(bench, ask, url, places) {
  const { supervisor, pids } = await startSupervisor(bench, url, places);
  await fill(url, JOBS);
  await until("all jobs run", async () => (await ask("select from public.started")).length === JOBS);
  const other = await startSupervisor(bench, url, places);
  const killedAt = now();
  const ending = until("its children have ended", () => pids.every((pid) => !isAlive(pid))).then(
    () => now() - killedAt,
  );
  const result = await standstill(ask, pids, () => supervisor.kill("SIGKILL"));
  const childrenMs = await ending;
  other.supervisor.kill("SIGKILL");
  return { ...result, childrenMs };
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function run(bench, { places, run }) {
  return bench.server.withDatabase(fairmill, {}, async (database) =>
    database.connected(async (client) => {
      await client.query(
        "create table public.started (job bigint, pid integer, at timestamptz default clock_timestamp())",
      );
      return run(bench, asker(client), database.url, places);
    }),
  );
}

export async function measure(bench) {
  const rounds = Math.min(ROUNDS_MAX, bench.rounds);
  const rows = [];
  const samples = [];
  for (const one of CASES) {
    const list = [];
    for (let round = 0; round < rounds; round++) {
      list.push(await run(bench, one));
      bench.say(`${one.name}: ${list.at(-1).jobs} jobs after ${list.at(-1).ms.toFixed(0)} ms`);
    }
    const times = list.map(({ ms }) => ms);
    rows.push({
      "": one.name,
      jobs: median(list.map(({ jobs }) => jobs)),
      "restarted after ms": median(times),
      slowest: Math.max(...times),
      "at most": one.mostMs,
    });
    samples.push({ label: one.name, samples: list });
  }
  return {
    tables: [
      {
        title: "Recovery",
        about: `From the kill until the last of its ${JOBS} jobs has started again in another process. Two children; rounds: ${rounds}. A death of a child is seen by its supervisor; that of a supervisor when its lease of ${LEASE_MS / 1000} s is over: at most five seconds later.`,
        rows,
      },
    ],
    problems: brokenBy(rows),
    samples,
  };
}

/** What of the promise does not hold: of every round, not of the median. */
export const brokenBy = (rows) =>
  rows
    .filter((row) => row.slowest > row["at most"])
    .map((row) => `Recovery: ${row[""]}: restarted after ${row.slowest.toFixed(0)} ms, and not ${row["at most"]}`);
