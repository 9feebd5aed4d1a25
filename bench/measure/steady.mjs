// Does a worker keep its speed where jobs hardly wait? Lanes empty all the time then, and come back; with an old snapshot open, no dead entry of theirs
// can be removed.
import { job, producing } from "../fill-and-drain.mjs";
import { Fleet } from "../fleet.mjs";
import { now, sleep } from "../statistics.mjs";
import { fairmill, raw } from "../systems.mjs";

const WAITING_MAX = 2_000;
const BULK = 100;
const PART_SECONDS = 5;
/** More than any contestant runs. */
const JOBS_PER_SECOND_MAX = 80_000;
const REST_MS_MAX = 60_000;

const CASES = [
  { tenants: 1, processes: 1 },
  { tenants: 1_000, processes: 1 },
  { tenants: 1_000, processes: 3 },
];

export async function measure(bench) {
  const seconds = bench.size(60);
  const samples = [];
  // One round: the beginning and the end of the same run are what is compared; the contestants of a case follow one another.
  for (const { tenants, processes } of CASES)
    for (const isHeld of [false, true])
      for (const system of [raw, fairmill]) {
        const about = { system: system.name, tenants, processes, isHeld };
        bench.say(Object.values(about).join(", "));
        samples.push({ ...about, ...(await runSteadily(bench, system, about, seconds)) });
      }
  return {
    tables: [
      {
        title: "Steady, few waiting",
        about: `Producers keep at most ${WAITING_MAX.toLocaleString("en")} jobs waiting for ${seconds} s. First and last: ${PART_SECONDS} s each. Blocks: looked at by all statements, those of the producers too, per job.`,
        rows: samples.map((sample, i) => ({
          "": sample.system,
          tenants: sample.tenants,
          processes: sample.processes,
          "old snapshot": sample.isHeld ? "yes" : "no",
          "jobs/s": sample.jobsPerSecond,
          "first, jobs/s": sample.first.rate,
          "last, jobs/s": sample.last.rate,
          "last / first": sample.last.rate / sample.first.rate,
          "last, of raw": sample.last.rate / samples[i - (i % 2)].last.rate,
          "first, blocks/job": sample.first.blocks,
          "last, blocks/job": sample.last.blocks,
          lost: sample.lost,
          twice: sample.twice,
          left: sample.left,
        })),
      },
    ],
    samples,
  };
}

function runSteadily(bench, system, { tenants, processes, isHeld }, seconds) {
  const settings = system.adapter.modes.steady;
  return bench.server.withDatabase(system, settings, (database) =>
    database.connected((snapshot) =>
      producing(system, database, settings, async (producer) => {
        const jobs = seconds * JOBS_PER_SECOND_MAX;
        const fleet = await Fleet.start(bench, { system, url: database.url, settings, jobs, processes });
        if (isHeld) {
          await snapshot.query("begin isolation level repeatable read");
          // The snapshot is taken by the first query, not by BEGIN.
          await snapshot.query("select count(*) from pg_class");
        }
        const endMs = now() + seconds * 1000;
        let made = 0;
        const feed = async () => {
          while (now() < endMs) {
            if (made - fleet.ran >= WAITING_MAX) {
              await sleep(1);
              continue;
            }
            const from = made;
            made += BULK;
            const tenantOf = (n) => (n * 7_919) % tenants;
            await producer.enqueueBulk(Array.from({ length: BULK }, (_, i) => job(from + i, tenantOf(from + i))));
          }
        };
        const parts = countParts(database, fleet, endMs);
        const fromMs = now();
        await Promise.all([feed(), feed()]);
        const jobsPerSecond = (fleet.ran / (now() - fromMs)) * 1000;
        await fleet.reach(made, REST_MS_MAX);
        const record = await fleet.stop();
        const counted = await parts;
        // The first seconds are those of processes that start.
        const [first, last] = [counted[Math.min(1, counted.length - 1)], counted.at(-1)];
        const left = await database.pending(system);
        return { jobsPerSecond, first, last, lost: made - record.times.length, twice: record.twice, left };
      }),
    ),
  );
}

/** Rate and blocks per job of each part of the time. */
async function countParts(database, fleet, endMs) {
  const partMs = Math.min(PART_SECONDS * 1000, (endMs - now()) / 2);
  const parts = [];
  let before = { atMs: now(), ran: fleet.ran, blocks: await database.blocks() };
  while (now() + partMs <= endMs + 50) {
    await sleep(partMs);
    const after = { atMs: now(), ran: fleet.ran, blocks: await database.blocks() };
    const ran = after.ran - before.ran;
    parts.push({ rate: (ran / (after.atMs - before.atMs)) * 1000, blocks: (after.blocks - before.blocks) / ran });
    before = after;
  }
  return parts;
}
