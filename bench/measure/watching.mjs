// What watching costs: one worker process empties a queue without a viewer, and with the dashboard open (its stream, and what its first page asks for
// whenever something moved) and metrics scraped every five seconds.
import pg from "pg";
import { drain, fill, mistakes } from "../fill-and-drain.mjs";
import { processorSeconds } from "../processor-time.mjs";
import { serving } from "../serving.mjs";
import { median, ratioOf, sleep } from "../statistics.mjs";
import { fairmill } from "../systems.mjs";
import { takeTurns } from "../turns.mjs";

const SCRAPE_MS = 5_000;
/** Of the drain without a watcher, at least. */
const RATIO_MIN = 0.95;
/** What the first page shows, by the topics whose news bring it again. */
const FIRST_PAGE = {
  jobs: ["now"],
  series: ["series?name=jobs.in&name=jobs.out&name=jobs.failed", "backlog", "time?by=kind"],
};

export async function measure(bench) {
  const settings = {};
  const jobs = bench.size(60_000);
  const contestants = [
    { label: "no viewer", isWatched: false },
    { label: "dashboard open, metrics every 5 s", isWatched: true },
  ];
  const samples = await takeTurns(bench, contestants, ({ isWatched }) =>
    bench.server.withDatabase(fairmill, settings, async (database) => {
      await fill(fairmill, database, settings, jobs);
      const measured = () =>
        withProcessorTime(database.url, jobs, () =>
          drain(bench, { system: fairmill, database, settings, queued: jobs }),
        );
      const { record, ...figures } = isWatched
        ? await serving(bench, database.url, (address) => watched(address, measured))
        : await measured();
      return figures;
    }),
  );
  const rates = samples.map((list) => list.map((sample) => sample.jobsPerSecond));
  const processor = samples.map((list) =>
    list.map(({ processorUs }) => processorUs).filter((value) => value !== undefined),
  );
  const ratio = ratioOf(rates[1], rates[0]);
  const rows = contestants.map(({ label }, i) => ({
    "": label,
    jobs,
    "jobs/s": median(rates[i]),
    "ratio to no viewer": ratioOf(rates[i], rates[0]),
    "processor µs per job": processor[i].length > 0 ? median(processor[i]) : undefined,
    "processor, ratio": processor[i].length > 0 ? ratioOf(processor[0], processor[i]) : undefined,
    ...mistakes(samples[i]),
  }));
  const isSlow = !bench.quick && median(rates[1]) < RATIO_MIN * median(rates[0]);
  return {
    tables: [
      { title: "Watching", about: "The server of the dashboard runs on the same machine as everything else.", rows },
    ],
    problems: isSlow
      ? [`Watching: the drain is ${ratio} of what it is without; at least ${RATIO_MIN} is promised`]
      : [],
    samples: contestants.map(({ label }, i) => ({ label, samples: samples[i] })),
  };
}

async function withProcessorTime(url, jobs, work) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const from = await processorSeconds(client);
    const figures = await work();
    const to = await processorSeconds(client);
    return { ...figures, processorUs: from === undefined ? undefined : ((to - from) / jobs) * 1e6 };
  } finally {
    await client.end();
  }
}

async function watched(address, work) {
  const ending = new AbortController();
  const { signal } = ending;
  const watching = Promise.all([listen(address, signal), scrape(address, signal)]);
  watching.catch(() => {});
  try {
    return await work();
  } finally {
    ending.abort();
    await watching.catch((error) => {
      if (!signal.aborted) throw error;
    });
  }
}

/** As the first page does it: what has changed is asked for again, and the longer an answer took, the longer it rests. */
async function listen(address, signal) {
  const response = await fetch(`${address}/api/v1/events`, { signal });
  for await (const chunk of response.body) {
    const text = Buffer.from(chunk).toString();
    const paths = Object.entries(FIRST_PAGE).flatMap(([topic, of]) => (text.includes(`"${topic}"`) ? of : []));
    await Promise.all(paths.map((path) => ask(address, path, signal)));
  }
}

const restUntilMs = new Map();

async function ask(address, path, signal) {
  const askedMs = performance.now();
  if (askedMs < (restUntilMs.get(address + path) ?? 0)) return;
  await (await fetch(`${address}/api/v1/${path}`, { signal })).text();
  const endedMs = performance.now();
  restUntilMs.set(address + path, endedMs + Math.max(1_900, 20 * (endedMs - askedMs)));
}

async function scrape(address, signal) {
  while (!signal.aborted) {
    await (await fetch(`${address}/metrics`, { signal })).text();
    await sleep(SCRAPE_MS);
  }
}
