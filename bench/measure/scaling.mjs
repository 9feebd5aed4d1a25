// HS3: do n worker processes, n children of a supervisor and n overlapping ticks do n times the work of one? Jobs wait 50 ms, ten at once in each.
import { createClient } from "../../dist/index.js";
import { waiting } from "../adapters/waiting/config.mjs";
import { Fleet } from "../fleet.mjs";
import { median, now, ratioOf, sleep } from "../statistics.mjs";
import { fairmill } from "../systems.mjs";
import { takeTurns } from "../turns.mjs";

const way = (name, file, fleetOf) => ({
  name,
  system: { file: new URL(`../adapters/waiting/${file}`, import.meta.url).href },
  fleetOf,
});
const WAYS = [
  way("worker processes", "workers.mjs", (count) => ({ processes: count, settings: {} })),
  way("children of a supervisor", "supervisor.mjs", (count) => ({ processes: 1, settings: { children: count } })),
  way("overlapping ticks", "ticks.mjs", (count) => ({ processes: count, settings: {} })),
];
/** The promise: so many must do so many times what one does. */
const LEAST = new Map([
  [2, 1.95],
  [4, 3.8],
]);
const TENANTS = 40;
/** More would take long and say nothing else. */
const ROUNDS_MAX = 3;
const DRAIN_MS_MAX = 180_000;

/** Jobs a second in the middle: neither while the first processes are alone, nor when the last have nothing to do. */
const RATE = `
  select count(*) / extract(epoch from max(ended_at) - min(ended_at))::float8 as rate
  from (select ended_at, row_number() over (order by ended_at) as n, count(*) over () as jobs from fairmill.job_history) h
  where n between jobs * 0.2 and jobs * 0.8`;
const MISTAKES = `
  select $1 - count(*)::integer as lost, (count(*) filter (where attempt > 1))::integer as twice,
    (select count(*)::integer from fairmill.job) as left
  from fairmill.job_history where state = 'done'`;

async function fill(url, jobs) {
  const client = createClient({ databaseUrl: url });
  for (let from = 0; from < jobs; from += 1_000)
    await client.enqueueMany(
      waiting,
      Array.from({ length: Math.min(1_000, jobs - from) }, (_, n) => ({ input: {}, tenant: `t${n % TENANTS}` })),
    );
  await client.close();
}

async function run(bench, { system, fleetOf, count, jobs }) {
  return bench.server.withDatabase(fairmill, {}, async (database) => {
    await fill(database.url, jobs);
    await database.rest();
    const fleet = await Fleet.start(bench, { system, url: database.url, jobs: 0, ...fleetOf(count) });
    const endMs = now() + DRAIN_MS_MAX;
    while ((await database.pending(fairmill)) > 0) {
      if (now() > endMs) throw new Error(`The queue was not empty after ${DRAIN_MS_MAX / 1000} s.`);
      await sleep(100);
    }
    await fleet.stop();
    return database.connected(async (client) => ({
      ...(await client.query(RATE)).rows[0],
      ...(await client.query(MISTAKES, [jobs])).rows[0],
    }));
  });
}

export async function measure(bench) {
  const each = Math.max(1_000, bench.size(2_000));
  const contestants = WAYS.flatMap(({ name, ...rest }) =>
    [1, ...LEAST.keys()].map((count) => ({
      ...rest,
      name,
      count,
      label: `${count} ${name}`,
      jobs: count * each,
    })),
  );
  const rounds = Math.min(ROUNDS_MAX, bench.rounds);
  const samples = await takeTurns({ ...bench, rounds }, contestants, (contestant) => run(bench, contestant));
  const rates = samples.map((list) => list.map(({ rate }) => rate));
  const rows = contestants.map(({ name, count }, i) => ({
    "": name,
    n: count,
    "jobs/s": median(rates[i]),
    "times one": ratioOf(rates[i], rates[contestants.findIndex((one) => one.name === name && one.count === 1)]),
    "at least": LEAST.get(count) ?? 1,
    ...Object.fromEntries(
      ["lost", "twice", "left"].map((mistake) => [mistake, samples[i].reduce((sum, one) => sum + one[mistake], 0)]),
    ),
  }));
  return {
    tables: [
      {
        title: "Scaling",
        about: `Jobs that wait 50 ms, ten at once in each of n, ${TENANTS} tenants, ${each.toLocaleString("en")} jobs for each of n. Jobs a second of the middle three fifths. HS3 promises 1.95 and 3.8 times one.`,
        rows,
      },
    ],
    problems: brokenBy(rows),
    samples: contestants.map(({ label }, i) => ({ label, samples: samples[i] })),
  };
}

/** What of the promise does not hold. */
export const brokenBy = (rows) =>
  rows
    .filter((row) => row["times one"] < row["at least"])
    .map((row) => `HS3: ${row.n} ${row[""]} do ${row["times one"].toFixed(2)} times one, and not ${row["at least"]}`);
