// `npm run bench`: makes a fresh clone ready and runs the benchmark. `npm run bench -- --help` lists the options.
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

try {
  const { runBenchmark } = await import("../bench/run.mjs");
  process.exitCode = await runBenchmark(process.argv.slice(2), stopping.signal);
} catch (error) {
  if (!stopping.signal.aborted) {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
// A measurement that was interrupted may still wait for something.
process.exit();
