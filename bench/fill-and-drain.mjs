// The two halves of most measurements: put jobs into a queue, and let workers empty it.
import { Fleet } from "./fleet.mjs";

const BULK = 1000;
const DRAIN_MS_MAX = 180_000;

/** About 100 bytes of JSON. */
export const job = (n, tenant = 0) => ({
  n,
  tenant,
  to: "somebody@example.com",
  subject: "Hello",
  pad: "x".repeat(24),
});

/** Runs the work with a producer, whose connections are gone afterwards. */
export async function producing(system, database, settings, work) {
  const producer = await system.adapter.producer({ url: database.url }, settings);
  try {
    return await work(producer);
  } finally {
    await producer.close();
  }
}

/** Enqueues jobs 0 to count - 1 in bulk, two statements under way at a time, and brings the database to rest. */
export async function fill(system, database, settings, count, tenantOf = () => 0) {
  await producing(system, database, settings, async (producer) => {
    let next = 0;
    const feed = async () => {
      while (next < count) {
        const from = next;
        next = Math.min(count, from + BULK);
        await producer.enqueueBulk(Array.from({ length: next - from }, (_, i) => job(from + i, tenantOf(from + i))));
      }
    };
    await Promise.all([feed(), feed()]);
  });
  await database.rest();
}

/** Starts worker processes, one unless said otherwise, on a filled queue and measures until `upto` jobs have started. */
export async function drain(bench, { system, database, settings, queued, upto = queued, processes = 1 }) {
  const from = await database.counters();
  const fleet = await Fleet.start(bench, { system, url: database.url, settings, jobs: queued, processes });
  await fleet.reach(upto, DRAIN_MS_MAX);
  const record = await fleet.stop();
  const to = await database.counters();
  const ran = record.times.length;
  const isWhole = upto === queued;
  return {
    record,
    jobsPerSecond: upto / record.secondsUntil(upto),
    walBytesPerJob: (to.walBytes - from.walBytes) / ran,
    commitsPerJob: (to.commits - from.commits) / ran,
    lost: isWhole ? record.lost : 0,
    twice: record.twice,
    left: isWhole ? await database.pending(system) : 0,
  };
}

/** The three counts that must be zero, over all samples. */
export const mistakes = (samples) =>
  Object.fromEntries(
    ["lost", "twice", "left"].map((name) => [name, samples.reduce((sum, sample) => sum + sample[name], 0)]),
  );
