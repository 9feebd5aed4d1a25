// How long a job waits on an idle system: from just before the enqueue call to the start of the handler.
import { job, mistakes, producing } from "../fill-and-drain.mjs";
import { Fleet } from "../fleet.mjs";
import { now, quantile, sleep } from "../statistics.mjs";
import { fairmill, raw } from "../systems.mjs";
import { takeTurns } from "../turns.mjs";

const JOBS_PER_SECOND = 50;
const WARM_UP_MS = 1000;

export async function measure(bench) {
  const contestants = [
    { label: "Fairmill, default settings", system: fairmill, settings: {} },
    { label: "raw SQL with LISTEN and NOTIFY", system: raw, settings: raw.adapter.modes.default },
  ];
  const seconds = bench.quick ? 3 : 5;
  const samples = await takeTurns(bench, contestants, (contestant) => trickle(bench, contestant, seconds));
  const rows = contestants.map(({ label }, i) => {
    const all = samples[i].flatMap((sample) => sample.latenciesMs);
    return {
      "": label,
      jobs: all.length,
      "p50 ms": quantile(all, 0.5),
      "p95 ms": quantile(all, 0.95),
      "p99 ms": quantile(all, 0.99),
      "max ms": Math.max(...all),
      ...mistakes(samples[i]),
    };
  });
  return {
    tables: [
      {
        title: `Latency at ${JOBS_PER_SECOND} jobs/s`,
        about:
          "From just before the enqueue call to the start of the handler in another process: it contains the commit of the job.",
        rows,
      },
    ],
    samples: contestants.map(({ label }, i) => ({ label, samples: samples[i] })),
  };
}

export function trickle(bench, { system, settings }, seconds) {
  return bench.server.withDatabase(system, settings, (database) =>
    producing(system, database, settings, async (producer) => {
      const jobs = JOBS_PER_SECOND * seconds;
      const fleet = await Fleet.start(bench, { system, url: database.url, settings, jobs });
      await sleep(WARM_UP_MS);
      const sentAt = new Float64Array(jobs);
      const sent = [];
      const fromMs = now();
      for (let n = 0; n < jobs; n++) {
        const waitMs = fromMs + (n * 1000) / JOBS_PER_SECOND - now();
        if (waitMs > 0) await sleep(waitMs);
        sentAt[n] = now();
        sent.push(producer.enqueue(job(n)));
      }
      await Promise.all(sent);
      await fleet.reach(jobs, 15_000);
      const { startedAt, lost, twice } = await fleet.stop();
      const latenciesMs = [...startedAt].map((time, n) => time - sentAt[n]).filter((ms) => !Number.isNaN(ms));
      return { latenciesMs, lost, twice, left: await database.pending(system) };
    }),
  );
}
