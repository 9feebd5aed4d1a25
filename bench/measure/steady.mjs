// Does a worker keep its speed where jobs hardly wait? Lanes empty all the time then, and come back; with an old snapshot open, no dead entry of theirs
// can be removed.
import { PART_SECONDS, runSteadily, WAITING_MAX } from "../steady.mjs";
import { fairmill, raw } from "../systems.mjs";

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
        samples.push({ ...about, ...(await run(bench, system, about, seconds)) });
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

async function run(bench, system, { tenants, processes, isHeld }, seconds) {
  const settings = system.adapter.modes.steady;
  const options = { system, settings, seconds, isPinned: isHeld, tenants, processes };
  const { parts, ...sample } = await runSteadily(bench, options);
  // The first seconds are those of processes that start.
  return { ...sample, first: parts[Math.min(1, parts.length - 1)], last: parts.at(-1) };
}
