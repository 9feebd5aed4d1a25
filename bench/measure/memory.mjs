// Does a process that works for long need more and more memory? One producer streams a million jobs in, one worker runs them.
import { fileURLToPath } from "node:url";
import { drain } from "../fill-and-drain.mjs";
import { forkChild, messageOf } from "../fleet.mjs";
import { fairmill, inWords } from "../systems.mjs";

const PRODUCER = fileURLToPath(new URL("../producer-process.mjs", import.meta.url));
/** More than this from the second quarter to the last is growth; garbage waiting to be collected moves it by less. */
const GROWTH_MAX = 1.25;

export async function measure(bench) {
  const jobs = bench.size(1_000_000);
  const settings = fairmill.adapter.modes.drain;
  return bench.server.withDatabase(fairmill, settings, async (database) => {
    bench.say(`one producer streams ${jobs.toLocaleString("en")} jobs`);
    const producer = await stream(bench, database.url, jobs);
    await database.rest();
    bench.say(`one worker runs ${jobs.toLocaleString("en")} jobs`);
    const { record, jobsPerSecond, lost, twice, left } = await drain(bench, {
      system: fairmill,
      database,
      settings,
      queued: jobs,
    });
    const rows = [
      {
        "": "producer, enqueueMany of an async generator",
        ...curve(producer.memory, jobs),
        "jobs/s": jobs / producer.seconds,
        lost: jobs - producer.count,
        twice: 0,
        left: 0,
      },
      {
        "": `worker, ${inWords(settings)}`,
        ...curve(record.memory, jobs),
        "jobs/s": jobsPerSecond,
        lost,
        twice,
        left,
      },
    ];
    // A short run is all beginning: its growth says nothing.
    const growing = bench.quick ? [] : rows.filter((row) => row["last / second quarter"] > GROWTH_MAX);
    return {
      tables: [
        {
          title: "Memory",
          about: `Resident memory (RSS) of the process in MB, while ${jobs.toLocaleString("en")} jobs pass through it: highest in each quarter of the jobs.`,
          rows,
        },
      ],
      problems: growing.map((row) => `memory grows: ${row[""]}`),
      samples: [
        { label: "producer", memory: producer.memory },
        { label: "worker", memory: record.memory },
      ],
    };
  });
}

async function stream(bench, url, jobs) {
  const child = forkChild(bench, PRODUCER);
  child.send({ url, jobs });
  return messageOf(child, (message) => message.memory !== undefined);
}

function curve(memory, jobs) {
  const highest = (from, to) =>
    memory
      .filter(({ ran }) => ran >= from * jobs && ran <= to * jobs)
      .reduce((most, { rssBytes }) => Math.max(most, rssBytes / 2 ** 20), 0);
  const quarters = [0, 1, 2, 3].map((i) => highest(i / 4, (i + 1) / 4));
  return {
    start: memory[0].rssBytes / 2 ** 20,
    "1st quarter": quarters[0],
    "2nd quarter": quarters[1],
    "3rd quarter": quarters[2],
    "last quarter": quarters[3],
    "last / second quarter": quarters[3] / quarters[1],
  };
}
