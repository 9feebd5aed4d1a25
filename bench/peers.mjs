// Side by side with other queues, in a harness that is not part of this repository: a checkout of queue-bench, installed by the
// user. Nothing is downloaded here; what is missing is named, and the rest of the benchmark goes on.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "./statistics.mjs";

const ADAPTER = fileURLToPath(new URL("adapters/fairmill.mjs", import.meta.url));
const PEERS = ["pg-boss", "graphile-worker", "bullmq"];
const SYSTEMS = ["raw-pg", ADAPTER, ...PEERS];
const ENQUEUE = { serial: "one at a time", concurrent100: "100 callers at once", bulk1000: "bulk of 1,000" };
const DRAIN = { "1 worker": "1 process", "2 worker": "2 processes", "4 worker": "4 processes" };

export async function measurePeers(bench, folder) {
  const harness = resolve(folder);
  const missing = await whatIsMissing(harness);
  if (missing) {
    bench.say(`skipped: ${missing}`);
    return { tables: [], problems: [] };
  }
  const scratch = await mkdtemp(join(tmpdir(), "fairmill-bench-"));
  try {
    const out = join(scratch, "results.json");
    await runHarness(bench, harness, out);
    return tablesOf(JSON.parse(await readFile(out, "utf8")));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** A sentence that says what to do first; undefined when everything is there. */
async function whatIsMissing(harness) {
  if (!existsSync(join(harness, "run.mjs")))
    return `there is no harness in ${harness}. Name a checkout of queue-bench with --peers-dir.`;
  const absent = ["pg", ...PEERS].filter((name) => !existsSync(join(harness, "node_modules", name)));
  if (absent.length > 0) return `${absent.join(", ")} not installed. Run \`npm install\` in ${harness}.`;
  for (const [name, port] of [
    ["PostgreSQL", process.env.BENCH_PG_PORT || 55432],
    ["Redis", process.env.BENCH_REDIS_PORT || 56379],
  ])
    if (!(await answers(Number(port))))
      return `the harness's ${name} does not answer on port ${port}. Run \`./services.sh start\` in ${harness}.`;
  return undefined;
}

function answers(port) {
  return new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    const say = (answer) => {
      socket.destroy();
      done(answer);
    };
    socket.once("connect", () => say(true)).once("error", () => say(false));
  });
}

function runHarness(bench, harness, out) {
  // graphile-worker needs a newer Node than Fairmill does; the harness brings one.
  const own = join(harness, "node_modules", ".bin", "node");
  const args = [
    "run.mjs",
    "--systems",
    SYSTEMS.join(","),
    "--scenarios",
    "S1,S2",
    "--reps",
    String(bench.rounds),
    "--out",
    out,
  ];
  if (bench.quick) args.push("--quick");
  const child = spawn(existsSync(own) ? own : process.execPath, args, {
    cwd: harness,
    stdio: ["ignore", "pipe", "inherit"],
  });
  bench.children.add(child);
  child.stdout.setEncoding("utf8").on("data", (text) => {
    for (const [, step] of text.matchAll(/-- (.*)/g)) bench.say(step.replace(ADAPTER, "fairmill"));
    for (const [line] of text.matchAll(/.*FAILED.*/g)) bench.say(line);
  });
  return new Promise((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => {
      bench.children.delete(child);
      if (code === 0) done();
      else fail(new Error(`The harness in ${harness} ended with exit code ${code}.`));
    });
  });
}

function tablesOf(measured) {
  const names = SYSTEMS.map((system) => (system === ADAPTER ? "fairmill" : system));
  const of = (system, scenario) => measured.filter((row) => row.system === system && row.scenario === scenario);
  const rate = (rows, name) => median(rows.filter((row) => row.case === name).map((row) => row.jobs_per_s));
  const sum = (rows, name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
  const rowsOf = (scenario, cases, counts) =>
    names.map((system) => {
      const rows = of(system, scenario);
      return {
        system,
        ...Object.fromEntries(Object.entries(cases).map(([name, title]) => [title, rate(rows, name)])),
        ...Object.fromEntries(Object.entries(counts).map(([name, title]) => [title, sum(rows, name)])),
      };
    });
  const silent = names.filter((system) => of(system, "S1").length === 0 || of(system, "S2").length === 0);
  return {
    tables: [
      {
        title: "Peers, enqueue, jobs/s",
        about: `On the harness's own servers, with Node ${measured[0]?.node}. Redis (BullMQ) acknowledges before the job is on disk; the others after.`,
        rows: rowsOf("S1", ENQUEUE, { lost: "lost" }),
      },
      {
        title: "Peers, drain, jobs/s",
        about: "Every system with the settings that were fastest for jobs that do nothing.",
        rows: rowsOf("S2", DRAIN, { lost: "lost", dup: "twice", left: "left" }),
      },
    ],
    problems: silent.map((system) => `${system} gave no result in the harness`),
    samples: measured,
  };
}
