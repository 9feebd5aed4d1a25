// Fairmill beside hand-written SQL and other queues: one table with the ratios that are promised.
import { RedisServer } from "../peers/redis.mjs";
import { loadPeers } from "../peers/systems.mjs";
import { median } from "../statistics.mjs";
import { fairmill, raw } from "../systems.mjs";
import { takeTurns } from "../turns.mjs";
import { judge, promiseInWords } from "./promises.mjs";
import { SCENARIOS } from "./scenarios.mjs";

export async function compare(bench) {
  const { systems: peers, missing } = await loadPeers();
  for (const sentence of missing) bench.say(sentence);
  const systems = [raw, ...peers, fairmill];
  const redis = peers.some(({ adapter }) => adapter.store === "redis") ? await RedisServer.open(bench) : undefined;
  bench.server.redis = redis;
  try {
    const scenarios = SCENARIOS.filter(({ title }) => !bench.scenarios || bench.scenarios.includes(title));
    const taken = [];
    for (const scenario of scenarios) taken.push(...(await takeScenario(bench, scenario, systems)));
    return resultOf(taken, systems, missing);
  } finally {
    bench.server.redis = undefined;
    await redis?.close();
  }
}

async function takeScenario(bench, { title, rounds = bench.rounds, fits = () => true, take }, systems) {
  const contestants = systems.filter(fits).map((system) => ({ label: `${title}: ${system.name}`, system }));
  const samples = await takeTurns({ ...bench, rounds }, contestants, ({ system }) => take(bench, system));
  return contestants.map(({ system }, i) => ({ scenario: title, system: system.name, samples: samples[i] }));
}

function resultOf(taken, systems, missing) {
  const figures = figuresOf(taken);
  const verdicts = judge(figures);
  const judged = verdicts.filter(({ reached }) => reached !== undefined);
  const mistakes = taken.flatMap(({ scenario, system, samples }) =>
    ["lost", "twice", "left"]
      .map((name) => [name, samples.reduce((sum, sample) => sum + sample[name], 0)])
      // Another queue's mistakes are its own: they are shown, and do not fail our benchmark.
      .filter(([, count]) => count > 0)
      .map(([name, count]) => ({
        isOurs: system === "Fairmill",
        text: `${scenario}, ${system}: ${count} jobs ${name}`,
      })),
  );
  return {
    tables: [
      {
        title: "Beside other queues",
        about: [
          "Medians of one run. Redis (BullMQ) answers before a job is on disk; the others after.",
          ...missing,
          ...mistakes.map(({ text }) => `${text}.`),
        ].join(" "),
        rows: [...figures].map(([name, values]) => ({
          "": name,
          ...Object.fromEntries(systems.map((system) => [system.name, values.get(system.name) ?? "–"])),
        })),
      },
      ...(judged.length > 0
        ? [
            {
              title: "Promised ratios",
              about: "A tenth is allowed for noise; the command fails beyond it.",
              rows: judged.map((verdict) => ({
                "": verdict.figure,
                promised: promiseInWords(verdict),
                reached: verdict.reached,
                kept: verdict.isKept ? "yes" : "no",
              })),
            },
          ]
        : []),
    ],
    problems: [
      ...judged
        .filter(({ isKept }) => !isKept)
        .map((verdict) => `${verdict.figure}: ${verdict.reached.toPrecision(3)}, promised ${promiseInWords(verdict)}`),
      ...mistakes.filter(({ isOurs }) => isOurs).map(({ text }) => text),
    ],
    samples: taken,
  };
}

/** Figure → system → median over the rounds. */
function figuresOf(taken) {
  const figures = new Map();
  for (const { system, samples } of taken)
    for (const name of Object.keys(samples[0].figures)) {
      if (!figures.has(name)) figures.set(name, new Map());
      figures.get(name).set(system, median(samples.map((sample) => sample.figures[name])));
    }
  return figures;
}
