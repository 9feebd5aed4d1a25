// Does a tenant with a mountain of jobs keep the others waiting? A queues first, then 99 tenants come with 100 jobs each.
import { drain, fill, mistakes } from "../fill-and-drain.mjs";
import { median } from "../statistics.mjs";
import { fairmill, raw } from "../systems.mjs";
import { takeTurns } from "../turns.mjs";

const OTHERS = 99;
const JOBS_EACH = 100;
/** The others wait for about as many of A's jobs as they have themselves: above this, docs/explanation/benchmarks.md would be wrong. */
const AHEAD_MAX = 3 * JOBS_EACH;

export async function measure(bench) {
  const mountain = bench.size(100_000);
  const contestants = [fairmill, raw].map((system) => ({
    label: system.name,
    system,
    settings: system.adapter.modes.drain,
  }));
  const samples = await takeTurns(bench, contestants, (contestant) => crowd(bench, contestant, mountain));
  const middle = (i, name) => median(samples[i].map((sample) => sample[name]));
  const rows = contestants.map(({ label }, i) => ({
    "": label,
    "jobs of A": mountain,
    "A's jobs started before the others' last": middle(i, "aheadOfLast"),
    "seconds to the others' last": middle(i, "secondsToLast"),
    "seconds for all": middle(i, "secondsForAll"),
    ...mistakes(samples[i]),
  }));
  return {
    tables: [
      {
        title: "Fairness",
        about: `A queues first, then ${OTHERS} tenants with ${JOBS_EACH} jobs each. With turns of equal size, about ${JOBS_EACH} jobs of A go first; first come, first served means all of them.`,
        rows,
      },
    ],
    problems: rows
      .slice(0, 1)
      .filter((row) => row["A's jobs started before the others' last"] > AHEAD_MAX)
      .map(
        (row) => `not fair: ${row["A's jobs started before the others' last"]} jobs of A went before the others' last`,
      ),
    samples: contestants.map(({ label }, i) => ({ label, samples: samples[i] })),
  };
}

export function crowd(bench, { system, settings }, mountain) {
  const queued = mountain + OTHERS * JOBS_EACH;
  const tenantOf = (n) => (n < mountain ? 0 : 1 + Math.floor((n - mountain) / JOBS_EACH));
  return bench.server.withDatabase(system, settings, async (database) => {
    await fill(system, database, settings, queued, tenantOf);
    const { record, lost, twice, left } = await drain(bench, { system, database, settings, queued });
    const lastAt = record.startedAt.subarray(mountain).reduce((latest, time) => Math.max(latest, time), 0);
    return {
      aheadOfLast: record.startedAt.subarray(0, mountain).reduce((count, time) => count + (time < lastAt ? 1 : 0), 0),
      secondsToLast: (lastAt - record.liveAt) / 1000,
      secondsForAll: record.secondsUntil(record.times.length),
      lost,
      twice,
      left,
    };
  });
}
