// What it costs to be a member of a batch: when a job is stored, and when it ends. All of 10,000 jobs are children of one batch.
import { drain, fill, mistakes } from "../fill-and-drain.mjs";
import { median, now, ratioOf } from "../statistics.mjs";
import { batched, fairmill } from "../systems.mjs";
import { takeTurns } from "../turns.mjs";

export async function measure(bench) {
  const jobs = bench.size(10_000);
  const contestants = [
    { label: "no batch", system: fairmill },
    { label: "one batch", system: batched },
  ];
  const samples = await takeTurns(bench, contestants, ({ system }) => {
    const settings = system.adapter.modes.drain;
    return bench.server.withDatabase(system, settings, async (database) => {
      const fromMs = now();
      await fill(system, database, settings, jobs);
      const storeMs = now() - fromMs;
      const { record, ...figures } = await drain(bench, { system, database, settings, queued: jobs });
      return { ...figures, storeMs, states: await statesOf(database) };
    });
  });
  const rates = samples.map((list) => list.map((sample) => sample.jobsPerSecond));
  const stores = samples.map((list) => list.map((sample) => sample.storeMs));
  const rows = contestants.map(({ label }, i) => ({
    "": label,
    jobs,
    "stored in ms": median(stores[i]),
    "ms more per job": i === 0 ? 0 : median(stores[i].map((ms, round) => (ms - stores[0][round]) / jobs)),
    "drained, jobs/s": median(rates[i]),
    "ratio to no batch": ratioOf(rates[i], rates[0]),
    ...mistakes(samples[i]),
  }));
  const open = samples[1].filter(({ states }) => states !== "succeeded").length;
  if (open > 0) throw new Error(`${open} of ${samples[1].length} batches are not over although their jobs are`);
  return {
    tables: [
      {
        title: "Batches",
        about: "Storing includes the pause that brings the database to rest. One worker process drains.",
        rows,
      },
    ],
    samples: contestants.map(({ label }, i) => ({ label, samples: samples[i] })),
  };
}

const statesOf = (database) =>
  database.connected(
    async (client) =>
      (await client.query("select string_agg(distinct state, ',') as states from fairmill.batch")).rows[0].states,
  );
