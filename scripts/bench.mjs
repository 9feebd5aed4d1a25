// `npm run bench`: makes a fresh clone ready and runs the benchmark. `npm run bench -- --help` lists the options.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ensurePeers } from "../bench/peers/ensure.mjs";
import { ensureBuilt, ensureInstalled } from "./ensure.mjs";

ensureInstalled();
ensureBuilt();

/** One Ctrl-C arrives twice here: from the terminal, and from npm, which passes it on and may take its time. */
const SAME_KEYPRESS_MS = 1_000;

const stopping = new AbortController();
let stoppedAt = 0;
const stop = (exitCode) => () => {
  if (!stopping.signal.aborted) {
    stoppedAt = performance.now();
    process.exitCode = exitCode;
    console.error("\nStopping …");
    stopping.abort();
  } else if (performance.now() - stoppedAt > SAME_KEYPRESS_MS) process.exit(exitCode);
};
process.on("SIGINT", stop(130));
process.on("SIGTERM", stop(143));
process.on("SIGHUP", stop(129));

/** With other queues beside it, the benchmark runs under the Node that was installed with them. */
function nodeToUse(argv) {
  const only = argv[argv.indexOf("--only") + 1] ?? "";
  const hasPeers = argv.includes("--peers") || (argv.includes("--only") && only.split(",").includes("peers"));
  return hasPeers && !argv.includes("--help") && !process.env.FAIRMILL_BENCH_UNDER_PEERS_NODE
    ? ensurePeers()
    : undefined;
}

function runUnder(node, argv) {
  const env = { ...process.env, FAIRMILL_BENCH_UNDER_PEERS_NODE: "1" };
  const child = spawn(node, [fileURLToPath(import.meta.url), ...argv], { stdio: "inherit", env });
  // Signals reach it as well: from the terminal, or passed on here.
  stopping.signal.addEventListener("abort", () => child.kill("SIGTERM"));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(signal ? 1 : code));
  });
}

try {
  const argv = process.argv.slice(2);
  const node = nodeToUse(argv);
  if (node) process.exit(await runUnder(node, argv));
  const { runBenchmark } = await import("../bench/run.mjs");
  process.exitCode = await runBenchmark(argv, stopping.signal);
} catch (error) {
  if (!stopping.signal.aborted) {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
// A measurement that was interrupted may still wait for something.
process.exit();
