// Does the claim get slower when more jobs wait, or more tenants?
import { drain, fill } from "../fill-and-drain.mjs";
import { RunRecord } from "../record.mjs";
import { median, ratioOf } from "../statistics.mjs";
import { fairmill } from "../systems.mjs";
import { takeTurns } from "../turns.mjs";

const system = fairmill;
const settings = fairmill.adapter.modes.drain;
/** "A long queue costs little": a claim that walks along it would be far below. */
const RATIO_MIN = 0.5;

export async function measure(bench) {
  const upto = bench.size(20_000);
  const tenants = bench.size(10_000);
  const deep = { waiting: bench.size(1_000_000), tenantOf: () => 0 };
  // Enough for every round, and for every tenant to wait until the end.
  const wide = { waiting: upto * (bench.rounds + 2), tenantOf: (n) => n % tenants };

  // The large queues are filled once and give every round its part; the small one is new each time.
  return withQueue(bench, deep, (deepQueue) =>
    withQueue(bench, wide, async (wideQueue) => {
      const shallow = { waiting: upto, tenantOf: () => 0 };
      const contestants = [
        { label: "shallow", take: () => withQueue(bench, shallow, (queue) => takeFrom(bench, queue, upto)) },
        { label: "deep", take: () => takeFrom(bench, deepQueue, upto) },
        { label: "wide", take: () => takeFrom(bench, wideQueue, upto) },
      ];
      const samples = await takeTurns(bench, contestants, ({ take }) => take());
      const rates = samples.map((list) => list.map((sample) => sample.jobsPerSecond));
      const row = (i, { waiting }, count, twice) => ({
        "jobs waiting": waiting,
        "tenants waiting": count,
        "jobs taken": upto,
        "jobs/s": median(rates[i]),
        "ratio to the first": ratioOf(rates[i], rates[0]),
        lost: samples[i].reduce((sum, sample) => sum + sample.lost, 0),
        twice,
      });
      const ofDeep = ratioOf(rates[1], rates[0]);
      return {
        problems:
          ofDeep >= RATIO_MIN ? [] : [`a long queue slows the claim: ${ofDeep.toFixed(2)} of the rate of a short one`],
        tables: [
          {
            title: "Depth",
            about: "Every drain starts a new worker process, so its first look at the queue is in the figures.",
            rows: [
              row(
                0,
                shallow,
                1,
                samples[0].reduce((sum, sample) => sum + sample.twice, 0),
              ),
              row(1, deep, 1, twiceIn(deepQueue)),
              row(2, wide, tenants, twiceIn(wideQueue)),
            ],
          },
        ],
        samples: contestants.map(({ label }, i) => ({ label, samples: samples[i] })),
      };
    }),
  );
}

function withQueue(bench, { waiting, tenantOf }, work) {
  return bench.server.withDatabase(system, settings, async (database) => {
    if (waiting > 100_000) bench.say(`filling a queue with ${waiting.toLocaleString("en")} jobs`);
    await fill(system, database, settings, waiting, tenantOf);
    return work({ database, waiting, records: [] });
  });
}

/** A job that one drain claimed and gave back must not have run in it: the records of a queue are kept and compared. */
async function takeFrom(bench, { database, waiting, records }, upto) {
  await database.rest();
  const { record, ...figures } = await drain(bench, { system, database, settings, queued: waiting, upto });
  records.push(record);
  return figures;
}

const twiceIn = ({ records }) => RunRecord.merge(records).twice;
