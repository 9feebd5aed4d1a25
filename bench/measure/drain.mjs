// How fast one worker process empties a queue of jobs that do nothing: what the platform itself costs per job.
import { drain, fill, mistakes } from "../fill-and-drain.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { fairmill, inWords, raw } from "../systems.mjs";
import { takeTurns } from "../turns.mjs";

export async function measure(bench) {
  const ceiling = {
    label: "raw SQL, batches of 2,000",
    system: raw,
    settings: raw.adapter.modes.drain,
    jobs: bench.size(100_000),
  };
  const contestants = [
    ceiling,
    {
      label: `Fairmill, ${inWords(fairmill.adapter.modes.drain)}`,
      system: fairmill,
      settings: fairmill.adapter.modes.drain,
      jobs: bench.size(100_000),
    },
    {
      label: "raw SQL, batches of 10",
      system: raw,
      settings: { ...raw.adapter.modes.drain, batch: 10, loops: 1 },
      jobs: bench.size(20_000),
    },
    { label: "Fairmill, default settings (concurrency 10)", system: fairmill, settings: {}, jobs: bench.size(20_000) },
  ];
  const samples = await takeTurns(bench, contestants, ({ system, settings, jobs }) =>
    bench.server.withDatabase(system, settings, async (database) => {
      await fill(system, database, settings, jobs);
      const { record, ...figures } = await drain(bench, { system, database, settings, queued: jobs });
      return figures;
    }),
  );
  const rates = samples.map((list) => list.map((sample) => sample.jobsPerSecond));
  const rows = contestants.map(({ label, jobs }, i) => ({
    "": label,
    jobs,
    "jobs/s": median(rates[i]),
    "ratio to raw": ratioOf(rates[i], rates[0]),
    "WAL bytes/job": median(samples[i].map((sample) => sample.walBytesPerJob)),
    "commits/job": median(samples[i].map((sample) => sample.commitsPerJob)),
    ...mistakes(samples[i]),
  }));
  return {
    tables: [
      {
        title: "Drain, one worker process",
        about:
          "Handlers do nothing. Raw SQL claims and deletes; Fairmill also keeps the lease, the attempts and a history row per job.",
        rows,
      },
    ],
    samples: contestants.map(({ label }, i) => ({ label, samples: samples[i] })),
  };
}
