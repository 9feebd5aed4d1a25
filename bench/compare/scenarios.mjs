// What is compared with other queues: each scenario takes one sample of one system, as figures by name.
import { drain, fill } from "../fill-and-drain.mjs";
import { enqueueFor } from "../measure/enqueue.mjs";
import { crowd } from "../measure/fairness.mjs";
import { idleFor } from "../measure/idle.mjs";
import { trickle } from "../measure/latency.mjs";
import { quantile } from "../statistics.mjs";
import { runSteadily } from "../steady.mjs";
import { fairmill, limited, raw } from "../systems.mjs";

const PROCESSES = [1, 2, 4];
const WAYS = { "one at a time": [1, 1], "100 callers at once": [100, 1], "bulk of 1,000": [1, 1000] };
const JOBS_PER_KEY = 10;

const onPostgres = (system) => system.adapter.store === "pg";
const isFairmill = (system) => system === fairmill;

const drains = PROCESSES.map((processes) => ({
  title: `drain, ${processes} ${processes === 1 ? "process" : "processes"}`,
  take: (bench, system) => {
    const settings = system.adapter.modes.drain;
    const jobs = bench.size(100_000);
    return drainFilled(bench, { system, settings, jobs, processes });
  },
}));

const enqueues = Object.entries(WAYS).map(([title, [callers, bulk]]) => ({
  title,
  take: async (bench, system) => figure(title, await enqueueFor(bench, { system, callers, bulk })),
}));

/** @type {{ title: string, rounds?: 1, fits?: (system: object) => boolean, take: (bench: object, system: object) => Promise<object> }[]} */
export const SCENARIOS = [
  ...drains.map(({ title, take }) => ({
    title,
    take: async (bench, system) => figure(title, await take(bench, system)),
  })),
  ...enqueues,
  { title: "steady", rounds: 1, take: (bench, system) => steady(bench, system, false) },
  { title: "steady, old snapshot", rounds: 1, fits: onPostgres, take: (bench, system) => steady(bench, system, true) },
  { title: "latency", take: latency },
  { title: "idle", rounds: 1, take: idle },
  { title: "flood", rounds: 1, take: flood },
  { title: "ten jobs per key", fits: isFairmill, take: tenJobsPerKey },
];

const figure = (name, { jobsPerSecond, lost, twice, left }) => ({
  figures: { [`${name}, jobs/s`]: jobsPerSecond },
  lost,
  twice,
  left,
});

function drainFilled(bench, { system, settings, jobs, processes = 1, tenantOf }) {
  return bench.server.withDatabase(system, settings, async (database) => {
    await fill(system, database, settings, jobs, tenantOf);
    const { record, ...figures } = await drain(bench, { system, database, settings, queued: jobs, processes });
    return figures;
  });
}

/** Those that a promise compares at the end: the others do not become faster by being shorter. */
const STEADY_SECONDS_MAX = 45;
const isLong = (system, isPinned) => system === fairmill || (system === raw && !isPinned);
export const steadySeconds = (bench, system, isPinned) =>
  isLong(system, isPinned) ? bench.steadySeconds : Math.min(STEADY_SECONDS_MAX, bench.steadySeconds);

async function steady(bench, system, isPinned) {
  const settings = system.adapter.modes.steady;
  const { parts, jobsPerSecond, ...mistakes } = await runSteadily(bench, {
    system,
    settings,
    seconds: steadySeconds(bench, system, isPinned),
    isPinned,
  });
  const rates = parts.map(({ rate }) => rate);
  const name = isPinned ? "steady, old snapshot" : "steady";
  return {
    figures: {
      [`${name}, seconds measured`]: steadySeconds(bench, system, isPinned),
      [`${name}, jobs/s`]: jobsPerSecond,
      [`${name}, last 5 s, jobs/s`]: rates.at(-1),
      // The first five seconds compile code and fill caches.
      [`${name}, last of second 5 s`]: rates.length > 1 ? rates.at(-1) / rates[1] : Number.NaN,
    },
    rates,
    ...mistakes,
  };
}

async function latency(bench, system) {
  const settings = system.adapter.modes.lowlat;
  const { latenciesMs, ...mistakes } = await trickle(bench, { system, settings }, bench.quick ? 3 : 10);
  return {
    figures: { "latency p50, ms": quantile(latenciesMs, 0.5), "latency p99, ms": quantile(latenciesMs, 0.99) },
    ...mistakes,
  };
}

async function idle(bench, system) {
  const { perSecond } = await idleFor(bench, system, system.adapter.modes.default, isFairmill(system));
  return { figures: { "idle, four workers, statements/s": perSecond }, lost: 0, twice: 0, left: 0 };
}

async function flood(bench, system) {
  const mountain = bench.size(100_000);
  const { aheadOfLast, lost, twice, left } = await crowd(
    bench,
    { system, settings: system.adapter.modes.drain },
    mountain,
  );
  return { figures: { "flood: jobs of the big tenant before the last of the others": aheadOfLast }, lost, twice, left };
}

/** One active job per key: nine of ten are blocked at the beginning. Of the same drain without limits, one after the other. */
async function tenJobsPerKey(bench) {
  const jobs = bench.size(50_000);
  const take = (limits) =>
    drainFilled(bench, {
      system: limited,
      settings: { ...fairmill.adapter.modes.drain, limits },
      jobs,
      tenantOf: (n) => n % 100,
    });
  const free = await take({});
  const keyed = await take({ keys: { limits: { active: 1 }, count: jobs / JOBS_PER_KEY } });
  return {
    figures: { "ten jobs per key, one active, of limits off": keyed.jobsPerSecond / free.jobsPerSecond },
    lost: free.lost + keyed.lost,
    twice: free.twice + keyed.twice,
    left: free.left + keyed.left,
  };
}
