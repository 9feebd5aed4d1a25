// What watching costs: the dashboard open (its stream, and what its first page asks for whenever something moved) and metrics scraped every five seconds,
// while one worker process empties a queue, and while jobs trickle in. What is promised of the drain is judged by the processor time that the server of the
// dashboard and its connections use each second, of one core: other processes on the machine do not change it, and a drain needs more than one core.
import { fill, job, mistakes, producing } from "../fill-and-drain.mjs";
import { Fleet } from "../fleet.mjs";
import { processorSeconds, secondsOfServer } from "../processor-time.mjs";
import { serving } from "../serving.mjs";
import { median, now, quantile, ratioOf, sleep } from "../statistics.mjs";
import { fairmill } from "../systems.mjs";
import { takeTurns } from "../turns.mjs";
import { watch } from "../viewer.mjs";

/** Of one core, at most. */
const PART_MAX = 0.05;
/** Of the latency without a watcher, at most. */
const LATENCY_RATIO_MAX = 1.05;
const DRAIN_MS_MAX = 180_000;
const JOBS_PER_SECOND = 50;
const SEGMENT_MS = 5_000;
const WARM_UP_MS = 2_000;

export async function measure(bench) {
  const drains = await ofDrain(bench);
  const latency = await ofLatency(bench);
  return {
    tables: [drains.table, latency.table],
    problems: bench.quick ? [] : [...drains.problems, ...latency.problems],
    samples: { drains: drains.samples, latency: latency.samples },
  };
}

async function ofDrain(bench) {
  const jobs = bench.size(100_000);
  const contestants = [
    { label: "no viewer", isWatched: false },
    { label: "dashboard open, metrics every 5 s", isWatched: true },
  ];
  const samples = await takeTurns(bench, contestants, ({ isWatched }) =>
    bench.server.withDatabase(fairmill, {}, async (database) => {
      await fill(fairmill, database, {}, jobs);
      return isWatched
        ? await serving(bench, database.url, (address, pid) => drain(bench, database, jobs, { address, pid }))
        : await drain(bench, database, jobs);
    }),
  );
  const rates = samples.map((list) => list.map((sample) => sample.jobsPerSecond));
  const known = samples[1].filter(({ ofCore }) => ofCore !== undefined);
  const medianOf = (name) => (known.length > 0 ? median(known.map((sample) => sample[name])) : undefined);
  const ofCore = medianOf("ofCore");
  const rows = contestants.map(({ label, isWatched }, i) => ({
    "": label,
    jobs,
    "watching, of one core": isWatched ? ofCore : undefined,
    "of all that was used": isWatched ? medianOf("ofAll") : undefined,
    "jobs/s": median(rates[i]),
    "ratio to no viewer": ratioOf(rates[i], rates[0]),
    ...mistakes(samples[i]),
  }));
  const about =
    "The server of the dashboard runs on the same machine as everything else. Watching: its process and its connections' processes, of all that the drain and the watching used.";
  return {
    table: { title: "Watching a drain", about, rows },
    problems:
      ofCore > PART_MAX
        ? [`Watching a drain: watching takes ${ofCore.toFixed(3)} of a core; at most ${PART_MAX} is promised`]
        : [],
    samples,
  };
}

/** From when the worker is live until the last job has started; `viewed`: the server that a viewer and a scraper look at meanwhile. */
function drain(bench, database, jobs, viewed) {
  return database.connected(async (client) => {
    const read = async () => ({
      all: await processorSeconds(client),
      watching: viewed && (await secondsOfServer(client, viewed.pid)),
      atMs: now(),
    });
    const fleet = await Fleet.start(bench, { system: fairmill, url: database.url, settings: {}, jobs });
    const from = await read();
    const end = viewed ? watch(viewed.address) : async () => {};
    await fleet.reach(jobs, DRAIN_MS_MAX);
    // While the processes are there still: those that have ended cannot be asked any more.
    const to = await read();
    await end();
    const record = await fleet.stop();
    const figures = {
      jobsPerSecond: jobs / record.secondsUntil(jobs),
      ...{ lost: record.lost, twice: record.twice, left: await database.pending(fairmill) },
    };
    if (!viewed || to.all === undefined || to.watching === undefined) return figures;
    const used = to.watching - from.watching;
    return { ...figures, ofAll: used / (to.all - from.all), ofCore: (used * 1000) / (to.atMs - from.atMs) };
  });
}

/** One run: the viewer comes and goes, so that a slow minute of the machine hits both. */
async function ofLatency(bench) {
  const segments = bench.quick ? 4 : 4 * bench.rounds;
  const perSegment = (JOBS_PER_SECOND * SEGMENT_MS) / 1000;
  const isWatched = (segment) => segment % 4 === 1 || segment % 4 === 2;
  const samples = await bench.server.withDatabase(fairmill, {}, (database) =>
    serving(bench, database.url, (address) =>
      producing(fairmill, database, {}, async (producer) => {
        const jobs = segments * perSegment;
        const fleet = await Fleet.start(bench, { system: fairmill, url: database.url, settings: {}, jobs });
        const sentAt = new Float64Array(jobs);
        const sent = [];
        for (let segment = 0; segment < segments; segment++) {
          bench.say(`latency, part ${segment + 1} of ${segments}: ${isWatched(segment) ? "watched" : "no viewer"}`);
          const end = isWatched(segment) ? watch(address) : async () => {};
          await sleep(WARM_UP_MS);
          const fromMs = now();
          for (let i = 0; i < perSegment; i++) {
            const waitMs = fromMs + (i * 1000) / JOBS_PER_SECOND - now();
            if (waitMs > 0) await sleep(waitMs);
            const n = segment * perSegment + i;
            sentAt[n] = now();
            sent.push(producer.enqueue(job(n)));
          }
          await end();
        }
        await Promise.all(sent);
        await fleet.reach(jobs, 15_000);
        const { startedAt, lost, twice } = await fleet.stop();
        const latenciesMs = [...startedAt].map((time, n) => time - sentAt[n]);
        return { latenciesMs, lost, twice, left: await database.pending(fairmill) };
      }),
    ),
  );
  const parts = Array.from({ length: segments }, (_, segment) =>
    samples.latenciesMs.slice(segment * perSegment, (segment + 1) * perSegment).filter((ms) => !Number.isNaN(ms)),
  );
  const of = (wanted) => parts.filter((_, segment) => isWatched(segment) === wanted);
  const [alone, watched] = [of(false), of(true)];
  // The parts lie so that what changes steadily meanwhile hits both alike.
  const ratio = median(watched.flat()) / median(alone.flat());
  const rowOf = (label, list) => {
    const all = list.flat();
    const [p50, p95, p99] = [0.5, 0.95, 0.99].map((part) => quantile(all, part));
    return { "": label, jobs: all.length, "p50 ms": p50, "p95 ms": p95, "p99 ms": p99 };
  };
  return {
    table: {
      title: `Watching ${JOBS_PER_SECOND} jobs/s`,
      about: `In one run, in parts of ${SEGMENT_MS / 1000} s: from just before the enqueue call to the start of the handler. The viewer is there in every second and third of four parts.`,
      rows: [
        { ...rowOf("no viewer", alone), "p50, ratio": 1, ...mistakes([samples]) },
        { ...rowOf("dashboard open, metrics every 5 s", watched), "p50, ratio": ratio, ...mistakes([samples]) },
      ],
    },
    problems:
      ratio > LATENCY_RATIO_MAX
        ? [
            `Watching: the latency is ${ratio.toFixed(3)} of what it is without; at most ${LATENCY_RATIO_MAX} is promised`,
          ]
        : [],
    samples,
  };
}
