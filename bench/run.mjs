// The benchmark from beginning to end: options, server, measurements one after the other, report, exit code.
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { SCENARIOS } from "./compare/scenarios.mjs";
import { measure as batches } from "./measure/batches.mjs";
import { measure as dashboard } from "./measure/dashboard.mjs";
import { measure as depth } from "./measure/depth.mjs";
import { measure as drain } from "./measure/drain.mjs";
import { measure as enqueue } from "./measure/enqueue.mjs";
import { measure as exit } from "./measure/exit.mjs";
import { measure as fairness } from "./measure/fairness.mjs";
import { measure as idle } from "./measure/idle.mjs";
import { measure as latency } from "./measure/latency.mjs";
import { measure as limits } from "./measure/limits.mjs";
import { measure as longTransaction } from "./measure/long-transaction.mjs";
import { measure as memory } from "./measure/memory.mjs";
import { measure as providers } from "./measure/providers.mjs";
import { measure as recovery } from "./measure/recovery.mjs";
import { measure as retention } from "./measure/retention.mjs";
import { measure as scaling } from "./measure/scaling.mjs";
import { measure as steady } from "./measure/steady.mjs";
import { measure as users } from "./measure/users.mjs";
import { measure as vast } from "./measure/vast.mjs";
import { measure as watching } from "./measure/watching.mjs";
import { HELP, readOptions } from "./options.mjs";
import { report } from "./report.mjs";
import { Server } from "./server.mjs";
import { now } from "./statistics.mjs";

const MEASUREMENTS = {
  enqueue,
  drain,
  latency,
  idle,
  fairness,
  depth,
  "long-transaction": longTransaction,
  steady,
  memory,
  limits,
  batches,
  vast,
  retention,
  scaling,
  recovery,
  exit,
  dashboard,
  watching,
  users,
  providers,
};
/** Counts that must be zero, in whatever table they stand. */
const MISTAKES = ["lost", "twice", "left"];
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** Returns the exit code: 0, or 1 when a measurement failed. Rejects when `signal` aborts, and leaves nothing running then. */
export async function runBenchmark(argv, signal) {
  const titles = SCENARIOS.map(({ title }) => title);
  const options = readOptions(argv, Object.keys(MEASUREMENTS), titles);
  if (options.help) {
    console.log(
      HELP.replace("MEASUREMENTS", Object.keys(MEASUREMENTS).join(", ")).replace("SCENARIOS", titles.join(" · ")),
    );
    return 0;
  }
  const fromMs = now();
  const bench = {
    quick: options.quick,
    rounds: options.rounds,
    scenarios: options.scenarios,
    steadySeconds: options.steadySeconds,
    /** How many of something; a tenth with --quick. */
    size: (count) => (options.quick ? count / 10 : count),
    say: (text) => console.error(`${((now() - fromMs) / 1000).toFixed(0).padStart(5)} s  ${text}`),
    /** Processes that must not outlive us. */
    children: new Set(),
    signal,
    server: undefined,
  };
  const opening = Server.open();
  opening.catch(() => {});
  try {
    return await orAborted(signal, runAll(bench, options, opening));
  } finally {
    for (const child of bench.children) child.kill("SIGKILL");
    const server = await opening.catch(() => {});
    await server?.close();
  }
}

async function runAll(bench, options, opening) {
  const facts = {
    Fairmill: version,
    Machine: `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform} ${process.arch}`,
    Node: process.versions.node,
  };
  bench.say("opening PostgreSQL");
  bench.server = await opening;
  Object.assign(facts, await bench.server.facts());
  facts.Sizes = `${options.quick ? "a tenth (--quick): not for comparisons" : "full"}, ${options.rounds} ${options.rounds === 1 ? "round" : "rounds"}, medians`;
  const results = [];
  for (const name of options.measurements) results.push(await attempt(bench, name, () => MEASUREMENTS[name](bench)));
  const crowds = results.find(({ name, samples }) => name === "users" && samples);
  if (options.isRecorded && crowds) {
    const { publishUsers } = await import("./users-picture.mjs");
    await publishUsers(facts, crowds);
  }
  if (options.hasPeers) {
    const { compare } = await import("./compare/compare.mjs");
    const compared = await attempt(bench, "peers", () => compare(bench));
    results.push(compared);
    if (options.isRecorded && compared.samples) {
      const { publishComparison } = await import("./compare/publish.mjs");
      await publishComparison(facts, compared);
    }
  }

  console.log(report({ facts, results }));
  if (options.jsonFile) await writeFile(options.jsonFile, `${JSON.stringify({ facts, results }, undefined, 1)}\n`);
  return results.some((result) => result.problems.length > 0) ? 1 : 0;
}

/** One measurement that fails does not take the others with it. */
async function attempt(bench, name, measure) {
  bench.say(`== ${name}`);
  const fromMs = now();
  const {
    tables = [],
    problems = [],
    samples,
  } = await measure().catch((error) => {
    bench.say(`failed: ${error.stack}`);
    return { problems: [`${name}: ${error.message}`] };
  });
  for (const { title, rows } of tables)
    for (const row of rows)
      for (const mistake of MISTAKES)
        if (row[mistake] > 0) problems.push(`${title}: ${row[mistake]} jobs ${mistake} (${Object.values(row)[0]})`);
  return { name, seconds: (now() - fromMs) / 1000, tables, problems, samples };
}

function orAborted(signal, work) {
  work.catch(() => {});
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
