// `npm start`: makes a fresh clone ready, starts an embedded PostgreSQL and runs an example on it: the sticker bot, or the one that is named.
// Another database is used only when it is named on the command line, whatever the environment says: `npm start -- --database-url postgres://…`.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { ensureDashboard } from "./dashboard-build.mjs";
import { ensureBuilt, ensureInstalled, root } from "./ensure.mjs";

const DATA_DIR = join(root, ".fairmill", "postgres");
const USAGE = "Usage: npm start -- [--database-url postgres://…] [--example stickers | fair-lanes] [--stickers n]";
const HELP = `${USAGE}

Shows an example at work: the sticker bot on simulated services, with workers and the dashboard. Ctrl-C stops everything.

  --database-url   in a database of yours, in schemas of their own that are dropped at the end; default: a PostgreSQL in .fairmill
  --example        stickers (default), or fair-lanes, a smaller one
  --stickers       end after so many stickers`;
/** By name: what loads its `run`. */
const EXAMPLES = {
  stickers: async () => {
    const { createJiti } = await import("jiti");
    // Not in a shared temporary folder, which another process could fill.
    const fsCache = join(root, "node_modules", ".cache", "fairmill");
    const jiti = createJiti(import.meta.url, { fsCache, interopDefault: false });
    return (await jiti.import("../examples/stickers/run/run.ts")).run;
  },
  "fair-lanes": async () => (await import("../examples/fair-lanes/run.mjs")).run,
};
/** One Ctrl-C arrives twice here: from the terminal, and from npm, which passes it on and may take its time. So does the end of a terminal: from the shell, and from the system. */
const SAME_KEYPRESS_MS = 1_000;

const { databaseUrl, example, stickers } = readArguments();
// Where workers listen: it would lead them to another database than the one that was chosen.
delete process.env.DATABASE_DIRECT_URL;
ensureInstalled();
ensureBuilt();
ensureDashboard();
const { outliveTerminal } = await import("../dist/base/terminal.js");
outliveTerminal();

const stopping = new AbortController();
let stoppedAt = 0;
let isStarting = true;
const stop = (exitCode) => () => {
  if (!stopping.signal.aborted) {
    stoppedAt = performance.now();
    console.log("\nStopping …");
    stopping.abort();
    // A server that is being made or started ends with this process; what is unfinished is swept away by the next start.
    if (isStarting) process.exit(exitCode);
  } else if (performance.now() - stoppedAt > SAME_KEYPRESS_MS) process.exit(exitCode);
};
process.on("SIGINT", stop(130));
process.on("SIGTERM", stop(143));
process.on("SIGHUP", stop(129));
// Its reader has gone, `npm start | head`; or its terminal, where nobody passes the signal on, as behind `su`.
const GONE = { EPIPE: 0, EIO: 129 };
process.stdout.on("error", ({ code }) => code in GONE && !stopping.signal.aborted && stop(GONE[code])());

let postgres;
try {
  postgres = databaseUrl === undefined ? await startPostgres() : undefined;
  const run = await EXAMPLES[example]();
  isStarting = false;
  await run({ databaseUrl: databaseUrl ?? postgres.url, isOurs: databaseUrl === undefined }, stopping.signal, stickers);
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : error}`);
  if (process.env.FAIRMILL_LOG_LEVEL === "debug") console.error(error);
  process.exitCode = 1;
} finally {
  await postgres?.stop();
}

function readArguments() {
  try {
    const text = { type: "string" };
    const help = { type: "boolean", short: "h" };
    const { values } = parseArgs({ options: { "database-url": text, example: text, stickers: text, help } });
    if (values.help) {
      console.log(HELP);
      process.exit(0);
    }
    const example = values.example ?? "stickers";
    if (!Object.hasOwn(EXAMPLES, example))
      throw new Error(`--example ${example}: there are ${Object.keys(EXAMPLES).join(" and ")}.`);
    if (values.stickers !== undefined && !/^[1-9]\d{0,5}$/.test(values.stickers))
      throw new Error(`--stickers ${values.stickers}: that is no number of stickers.`);
    const stickers = values.stickers === undefined ? undefined : Number(values.stickers);
    return { databaseUrl: values["database-url"], example, stickers };
  } catch (error) {
    console.error(`error: ${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

async function startPostgres() {
  const { startEmbedded } = await import("../dist/embedded/index.js");
  console.log("Starting PostgreSQL …");
  // The data is not needed afterwards: then it may lie in a temporary folder that is swept away, where this one cannot be entered.
  const started = await startEmbedded({ dataDir: DATA_DIR, durable: false });
  // Two examples on one database would count each other's jobs, and the end of the first would be the end of both.
  if (started.adopted) throw new Error(whoRuns());
  const { hostname, port, pathname } = new URL(started.url);
  const folder = relative(process.cwd(), started.dataDir);
  console.log(
    `Database: postgres://${hostname}:${port}${pathname} (PostgreSQL ${started.version}), data in ${folder.startsWith("..") ? started.dataDir : folder}`,
  );
  if (process.env.DATABASE_URL)
    console.log(`DATABASE_URL is set, and not used. To use it: npm start -- --database-url "$DATABASE_URL"`);
  return started;
}

function whoRuns() {
  const { owner } = JSON.parse(readFileSync(join(DATA_DIR, "connection.json"), "utf8"));
  const who = owner === null ? "by no process any more" : `by process ${owner.pid}`;
  return `The PostgreSQL in ${relative(process.cwd(), DATA_DIR)} is run already, ${who}: another \`npm start\` or \`fairmill dev\` in this folder.
Stop that one (Ctrl-C in its terminal), or look at its jobs from here: node dist/cli/main.js jobs`;
}
