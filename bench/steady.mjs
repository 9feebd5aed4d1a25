// The state that users live in: jobs come and go at once, and at most 2,000 of them wait. Lanes run empty and come back all the time.
import { job, producing } from "./fill-and-drain.mjs";
import { Fleet } from "./fleet.mjs";
import { now, sleep } from "./statistics.mjs";

export const WAITING_MAX = 2_000;
export const PART_SECONDS = 5;
const BULK = 100;
/** More than any contestant runs. */
const JOBS_PER_SECOND_MAX = 130_000;
const REST_MS_MAX = 60_000;
/** Coprime to the number of tenants: neighbours in a list belong to different ones. */
const STRIDE = 7_919;

/**
 * Feeds worker processes for a time; with `isPinned` another session keeps an old snapshot open meanwhile, as a long report does. Answers with
 * jobs per second, and blocks per job where PostgreSQL counts them, of every five seconds.
 */
export function runSteadily(bench, { system, settings, seconds, isPinned = false, tenants = 1, processes = 1 }) {
  return bench.server.withDatabase(system, settings, (database) =>
    producing(system, database, settings, async (producer) => {
      const jobs = seconds * JOBS_PER_SECOND_MAX;
      const fleet = await Fleet.start(bench, { system, url: database.url, settings, jobs, processes });
      const feeding = () => feed(database, producer, fleet, seconds, tenants);
      const { parts, jobsPerSecond, made } = isPinned ? await besideOldSnapshot(database, feeding) : await feeding();
      await fleet.reach(made, REST_MS_MAX);
      const record = await fleet.stop();
      const left = await database.pending(system);
      return { jobsPerSecond, parts, lost: made - record.times.length, twice: record.twice, left };
    }),
  );
}

async function feed(database, producer, fleet, seconds, tenants) {
  let made = 0;
  const fromMs = now();
  const endMs = fromMs + seconds * 1000;
  const loop = async () => {
    while (now() < endMs) {
      if (made - fleet.ran >= WAITING_MAX) {
        await sleep(1);
        continue;
      }
      const from = made;
      made += BULK;
      const jobs = Array.from({ length: BULK }, (_, i) => job(from + i, ((from + i) * STRIDE) % tenants));
      await producer.enqueueBulk(jobs);
    }
  };
  const [parts] = await Promise.all([countParts(database, fleet, endMs), loop(), loop()]);
  return { parts, jobsPerSecond: (fleet.ran / (now() - fromMs)) * 1000, made };
}

/** Rate and blocks per job of each part of the time. */
async function countParts(database, fleet, endMs) {
  const partMs = Math.min(PART_SECONDS * 1000, (endMs - now()) / 2);
  const count = async () => ({ atMs: now(), ran: fleet.ran, blocks: (await database.blocks?.()) ?? Number.NaN });
  const parts = [];
  let before = await count();
  while (now() + partMs <= endMs + 50) {
    await sleep(partMs);
    const after = await count();
    const ran = after.ran - before.ran;
    parts.push({ rate: (ran / (after.atMs - before.atMs)) * 1000, blocks: (after.blocks - before.blocks) / ran });
    before = after;
  }
  return parts;
}

function besideOldSnapshot(database, work) {
  return database.connected(async (client) => {
    await client.query("begin isolation level repeatable read");
    // The snapshot is taken by the first query, not by BEGIN.
    await client.query("select count(*) from pg_class");
    return work();
  });
}
