// Does the claim collapse while somebody's long transaction keeps vacuum from removing dead rows?
import { drain, fill, mistakes } from "../fill-and-drain.mjs";
import { fairmill, raw } from "../systems.mjs";

const PART = 0.2;

export async function measure(bench) {
  const jobs = bench.size(200_000);
  const samples = [];
  // One round: the beginning and the end of the same drain are what is compared.
  for (const [system, isHeld] of [
    [fairmill, false],
    [fairmill, true],
    [raw, true],
  ]) {
    const label = `${system.name}, ${isHeld ? "a transaction stays open" : "no long transaction"}`;
    bench.say(label);
    samples.push({ label, ...(await drainBeside(bench, system, isHeld, jobs)) });
  }
  return {
    tables: [
      {
        title: "Long transaction",
        about: `A REPEATABLE READ transaction is opened before the drain of ${jobs.toLocaleString("en")} jobs and stays open: no dead row can be removed.`,
        rows: samples.map((sample) => ({
          "": sample.label,
          "jobs/s": sample.jobsPerSecond,
          "first 20 %, jobs/s": sample.first,
          "last 20 %, jobs/s": sample.last,
          "last / first": sample.last / sample.first,
          ...mistakes([sample]),
        })),
      },
    ],
    samples,
  };
}

function drainBeside(bench, system, isHeld, jobs) {
  const settings = system.adapter.modes.drain;
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
