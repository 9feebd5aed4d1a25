// Who gets how much while everybody waits: weights, and tenants of equal weight. Four worker processes.
import { fill } from "../../fill-and-drain.mjs";
import { Fleet } from "../../fleet.mjs";
import { limited } from "../../systems.mjs";

const PROCESSES = 4;
const WEIGHTS = [1, 2, 5];
const EQUALS = 50;
const REACH_MS_MAX = 120_000;

export async function measure(bench) {
  const first = bench.size(10_000);
  bench.say("weights");
  const weighted = await servedOfFirst(bench, first, WEIGHTS.length, { weights: WEIGHTS });
  bench.say("equal tenants");
  const equal = await servedOfFirst(bench, first, EQUALS, {});
  const whole = WEIGHTS.reduce((sum, weight) => sum + weight, 0);
  return {
    table: {
      title: "Limits: shares",
      about: `The first ${first.toLocaleString("en")} jobs that started on ${PROCESSES} worker processes with default settings, while every tenant still had jobs waiting.`,
      rows: [
        ...WEIGHTS.map((weight, i) => ({
          "": `weight ${weight} of ${whole}`,
          jobs: weighted[i],
          "part of the fair share": weighted[i] / ((first * weight) / whole),
        })),
        {
          "": `${EQUALS} equal tenants: the least served`,
          jobs: Math.min(...equal),
          "part of the fair share": Math.min(...equal) / (first / EQUALS),
        },
        {
          "": `${EQUALS} equal tenants: Jain's index`,
          jobs: first,
          "part of the fair share": jain(equal),
        },
      ],
    },
    samples: [
      { label: "weights", served: weighted },
      { label: "equal", served: equal },
    ],
  };
}

/** By tenant, how many of the first jobs were theirs. */
function servedOfFirst(bench, first, tenants, how) {
  const settings = { limits: { tenants: { count: tenants, settings: {}, ...how } } };
  // Enough for the heaviest, and to wait until the end.
  const queued = tenants * Math.ceil((first / tenants) * 3);
  return bench.server.withDatabase(limited, settings, async (database) => {
    await fill(limited, database, settings, queued, (n) => n % tenants);
    const fleet = await Fleet.start(bench, {
      system: limited,
      url: database.url,
      settings,
      jobs: queued,
      processes: PROCESSES,
    });
    await fleet.reach(first, REACH_MS_MAX);
    const { startedAt, times } = await fleet.stop();
    const served = Array.from({ length: tenants }, () => 0);
    for (let n = 0; n < queued; n++) if (startedAt[n] <= times[first - 1]) served[n % tenants]++;
    return served;
  });
}

function jain(counts) {
  const sum = counts.reduce((all, count) => all + count, 0);
  return (sum * sum) / (counts.length * counts.reduce((all, count) => all + count * count, 0));
}
