// `npm start`: makes a fresh clone ready, starts an embedded PostgreSQL (unless DATABASE_URL names one) and runs the example on it.
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, root } from "./ensure.mjs";

ensureInstalled();
ensureBuilt();

/** One Ctrl-C arrives twice here: from the terminal, and from npm, which passes it on. */
const SAME_KEYPRESS_MS = 150;

const stopping = new AbortController();
let stoppedAt = 0;
const stop = (exitCode) => () => {
  if (!stopping.signal.aborted) {
    stoppedAt = performance.now();
    console.log("\nStopping …");
    stopping.abort();
  } else if (performance.now() - stoppedAt > SAME_KEYPRESS_MS) process.exit(exitCode);
};
process.on("SIGINT", stop(130));
process.on("SIGTERM", stop(143));

let postgres;
try {
  if (!process.env.DATABASE_URL) {
    const { startEmbedded } = await import("../dist/embedded/index.js");
    console.log("Starting PostgreSQL in .fairmill/postgres …");
    postgres = await startEmbedded({ dataDir: join(root, ".fairmill", "postgres") });
  }
  const { run } = await import("../examples/fair-lanes/run.mjs");
  if (!stopping.signal.aborted) await run(process.env.DATABASE_URL || postgres.url, stopping.signal);
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : error}`);
  if (process.env.FAIRMILL_LOG_LEVEL === "debug") console.error(error);
  process.exitCode = 1;
} finally {
  await postgres?.stop();
}
