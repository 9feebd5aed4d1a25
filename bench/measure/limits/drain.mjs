// What limits cost where they hold no job back: the same drain without them and with them.
import { drain, fill, mistakes } from "../../fill-and-drain.mjs";
import { median, ratioOf } from "../../statistics.mjs";
import { fairmill, inWords, limited } from "../../systems.mjs";
import { takeTurns } from "../../turns.mjs";

const TENANTS = 100;
const JOBS_PER_KEY = 10;
/** So much that no job reaches it. */
const PLENTY = { limit: 1_000_000, per: "1s" };

export async function measure(bench) {
  const jobs = bench.size(50_000);
  const mode = fairmill.adapter.modes.drain;
  const keys = (limits, count) => ({ keys: { limits, count } });
  const tenants = (settings, weights) => ({ tenants: { count: TENANTS, settings, weights } });
  const contestants = [
    { label: "no limits", limits: {} },
    { label: "a cap and a weight per tenant", limits: tenants({ maxRunning: 500 }, [1, 2, 3, 4, 5]) },
    { label: "a rate per tenant", limits: tenants({ rate: PLENTY }) },
    { label: "one active job per key, a key per job", limits: keys({ active: 1 }, jobs) },
    {
      label: `one active job per key, ${JOBS_PER_KEY} jobs per key`,
      limits: keys({ active: 1 }, jobs / JOBS_PER_KEY),
    },
    { label: `a rate per key, ${JOBS_PER_KEY} jobs per key`, limits: keys({ rate: PLENTY }, jobs / JOBS_PER_KEY) },
  ];
  const samples = await takeTurns(bench, contestants, ({ limits }) => {
    const settings = { ...mode, limits };
    return bench.server.withDatabase(limited, settings, async (database) => {
      await fill(limited, database, settings, jobs, (n) => n % TENANTS);
      const { record, ...figures } = await drain(bench, { system: limited, database, settings, queued: jobs });
      return figures;
    });
  });
  const rates = samples.map((list) => list.map((sample) => sample.jobsPerSecond));
  return {
    table: {
      title: "Limits: drain",
      about: `One worker process, ${inWords(mode)}, ${jobs.toLocaleString("en")} jobs of ${TENANTS} tenants. Caps and rates are wide enough to hold no job back; with ${JOBS_PER_KEY} jobs per key all but the first of each are blocked at the beginning.`,
      rows: contestants.map(({ label }, i) => ({
        "": label,
        "jobs/s": median(rates[i]),
        "ratio to no limits": ratioOf(rates[i], rates[0]),
        "WAL bytes/job": median(samples[i].map((sample) => sample.walBytesPerJob)),
        "commits/job": median(samples[i].map((sample) => sample.commitsPerJob)),
        ...mistakes(samples[i]),
      })),
    },
    samples: contestants.map(({ label }, i) => ({ label, samples: samples[i] })),
  };
}
