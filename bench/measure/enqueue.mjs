// How fast jobs go in: call by call, from 100 callers at once, and in bulk.
import { job, mistakes, producing } from "../fill-and-drain.mjs";
import { median, now, ratioOf } from "../statistics.mjs";
import { fairmill, raw } from "../systems.mjs";
import { takeTurns } from "../turns.mjs";

const WAYS = [
  { way: "one at a time", callers: 1, bulk: 1 },
  { way: "100 callers at once", callers: 100, bulk: 1 },
  { way: "bulk of 1,000", callers: 1, bulk: 1000 },
];

export async function measure(bench) {
  const contestants = WAYS.flatMap((way) => [
    { ...way, system: fairmill, label: `Fairmill, ${way.way}` },
    { ...way, system: raw, label: `raw SQL, ${way.way}` },
  ]);
  const samples = await takeTurns(bench, contestants, (contestant) => enqueueFor(bench, contestant));
  const rows = WAYS.map(({ way }, i) => {
    const [ours, ceiling] = [samples[2 * i], samples[2 * i + 1]];
    const [our, their] = [ours, ceiling].map((list) => list.map((sample) => sample.jobsPerSecond));
    const { lost, twice } = mistakes([...ours, ...ceiling]);
    return {
      "": way,
      "Fairmill jobs/s": median(our),
      "raw SQL jobs/s": median(their),
      "ratio to raw": ratioOf(our, their),
      lost,
      twice,
    };
  });
  return {
    tables: [
      {
        title: "Enqueue",
        about:
          "Every call returns when its job is on disk. Both have 20 connections. Raw SQL does one insert per call; Fairmill puts concurrent calls of one process into one transaction.",
        rows,
      },
    ],
    samples: contestants.map(({ label }, i) => ({ label, samples: samples[i] })),
  };
}

/** Enqueues for a while, then asks the table whether it holds what was promised. */
export function enqueueFor(bench, { system, callers, bulk }) {
  const settings = system.adapter.modes.drain;
  return bench.server.withDatabase(system, settings, (database) =>
    producing(system, database, settings, async (producer) => {
      // Opens the connections and compiles the code.
      await Promise.all(Array.from({ length: Math.max(20, callers) }, () => producer.enqueue(job(0))));
      const before = await database.pending(system);
      let count = 0;
      const fromMs = now();
      const endMs = fromMs + bench.size(2000);
      const call = async () => {
        while (now() < endMs) {
          const from = count;
          count += bulk;
          if (bulk === 1) await producer.enqueue(job(from));
          else await producer.enqueueBulk(Array.from({ length: bulk }, (_, i) => job(from + i)));
        }
      };
      await Promise.all(Array.from({ length: callers }, call));
      const seconds = (now() - fromMs) / 1000;
      const stored = (await database.pending(system)) - before;
      return {
        jobsPerSecond: count / seconds,
        lost: Math.max(0, count - stored),
        twice: Math.max(0, stored - count),
        left: 0,
      };
    }),
  );
}
