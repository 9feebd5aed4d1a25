// The state that users live in: jobs come and go at once, and at most 2,000 of them wait. Lanes are emptied all the time.
import { job, producing } from "./fill-and-drain.mjs";
import { Fleet } from "./fleet.mjs";
import { now, sleep } from "./statistics.mjs";

const WAITING_MAX = 2000;
const BULK = 100;
const STEP_MS = 5_000;
/** Numbers of jobs are prepared for this rate; no system here comes near it. */
const JOBS_PER_SECOND_MAX = 130_000;
const DRAIN_MS_MAX = 60_000;

/**
 * Feeds one worker process for so many seconds, on request while another session keeps an old snapshot open, as a long report does.
 * Answers with jobs per second of every five seconds.
 */
export function runSteadily(bench, { system, settings, seconds, isPinned = false, tenants = 1, processes = 1 }) {
  return bench.server.withDatabase(system, settings, (database) =>
    producing(system, database, settings, async (producer) => {
      const jobs = seconds * JOBS_PER_SECOND_MAX;
      const fleet = await Fleet.start(bench, { system, url: database.url, settings, jobs, processes });
      const feeding = () => feed(producer, fleet, seconds, tenants);
      const { fromMs, sent } = isPinned ? await besideOldSnapshot(database, feeding) : await feeding();
      await fleet.reach(sent, DRAIN_MS_MAX);
      const record = await fleet.stop();
      return {
        rates: ratesOf(record, fromMs, seconds),
        lost: sent - record.times.length,
        twice: record.twice,
        left: await database.pending(system),
      };
    }),
  );
}

async function feed(producer, fleet, seconds, tenants) {
  let sent = 0;
  const fromMs = now();
  const endMs = fromMs + seconds * 1000;
  const loop = async () => {
    while (now() < endMs) {
      if (sent - fleet.ran >= WAITING_MAX) {
        await sleep(1);
        continue;
      }
      const from = sent;
      sent += BULK;
      await producer.enqueueBulk(Array.from({ length: BULK }, (_, i) => job(from + i, (from + i) % tenants)));
    }
  };
  await Promise.all([loop(), loop()]);
  return { fromMs, sent };
}

function besideOldSnapshot(database, work) {
  return database.connected(async (client) => {
    await client.query("begin isolation level repeatable read");
    // The snapshot is taken by the first query, not by BEGIN.
    await client.query("select count(*) from pg_class");
    return work();
  });
}

function ratesOf(record, fromMs, seconds) {
  const counts = new Array(Math.max(1, Math.floor((seconds * 1000) / STEP_MS))).fill(0);
  for (const time of record.times) {
    const step = Math.floor((time - fromMs) / STEP_MS);
    if (step >= 0 && step < counts.length) counts[step]++;
  }
  return counts.map((count) => (count * 1000) / STEP_MS);
}
