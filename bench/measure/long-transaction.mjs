// Does the claim collapse while a long transaction of another session keeps vacuum from removing dead rows?
import { drain, fill, mistakes } from "../fill-and-drain.mjs";
import { fairmill, inWords, raw } from "../systems.mjs";

const PART = 0.2;
/** "Fairmill does not slow down": raw SQL falls to a quarter. */
const LAST_TO_FIRST_MIN = 0.5;
// Batches of a usual size on both sides: a claim in the usual way walks over all that is dead, so the number of claims matters.
const OURS = { concurrency: 100, prefetch: 200 };
const THEIRS = { ...raw.adapter.modes.drain, batch: 200 };

export async function measure(bench) {
  const jobs = bench.size(200_000);
  const samples = [];
  // One round: the beginning and the end of the same drain are what is compared.
  for (const [system, settings, name] of [
    [fairmill, OURS, `Fairmill, ${inWords(OURS)}`],
    [raw, THEIRS, `raw SQL, batches of ${THEIRS.batch}`],
  ])
    for (const isHeld of [false, true]) {
      bench.say(`${name}${isHeld ? ", a transaction stays open" : ""}`);
      samples.push({ label: name, isHeld, ...(await drainBeside(bench, system, settings, isHeld, jobs)) });
    }
  return {
    tables: [
      {
        title: "Long transaction",
        about: `A REPEATABLE READ transaction is opened before the drain of ${jobs.toLocaleString("en")} jobs and stays open: no dead row can be removed.`,
        rows: samples.map((sample) => ({
          "": sample.label,
          "long transaction": sample.isHeld ? "yes" : "no",
          "jobs/s": sample.jobsPerSecond,
          "first 20 %, jobs/s": sample.first,
          "last 20 %, jobs/s": sample.last,
          "last / first": sample.last / sample.first,
          ...mistakes([sample]),
        })),
      },
    ],
    problems: samples
      .filter(
        ({ label, isHeld, last, first }) => label.startsWith("Fairmill") && isHeld && last < first * LAST_TO_FIRST_MIN,
      )
      .map(
        ({ last, first }) =>
          `a long transaction slows the claim: the last fifth at ${(last / first).toFixed(2)} of the first`,
      ),
    samples,
  };
}

function drainBeside(bench, system, settings, isHeld, jobs) {
  return bench.server.withDatabase(system, settings, async (database) => {
    await fill(system, database, settings, jobs);
    const measured = async () => {
      const { record, ...figures } = await drain(bench, { system, database, settings, queued: jobs });
      return { ...figures, first: record.rateOfFirst(PART), last: record.rateOfLast(PART) };
    };
    if (!isHeld) return measured();
    return database.connected(async (client) => {
      await client.query("begin isolation level repeatable read");
      // The snapshot is taken by the first query, not by BEGIN.
      await client.query("select count(*) from pg_class");
      return measured();
    });
  });
}
