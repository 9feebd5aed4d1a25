// The command line of the benchmark.
import { parseArgs } from "node:util";

export const HELP = `Usage: npm run bench -- [options]

Measures Fairmill beside hand-written SQL on one PostgreSQL, in one run. Progress goes to stderr, the tables to stdout.

  --only a,b        only these measurements: MEASUREMENTS
  --quick           a tenth of the sizes: a few minutes, good for "does it still work", not for figures
  --rounds N        how often the contestants take turns (default 5; 1 with --quick)
  --json FILE       also write every figure to FILE
  --peers           also run pg-boss, graphile-worker and BullMQ, with a harness that is installed already
  --peers-dir DIR   where that harness is (default ../shared/bench)
  --help

BENCH_DATABASE_URL   a PostgreSQL of yours (as superuser) instead of the embedded one
TMPDIR               where the embedded one keeps its data: choose a real disk, not a memory file system`;

/**
 * What to do; throws an Error with a sentence for the user when the arguments make no sense.
 * @param {string[]} argv
 * @param {string[]} known names of all measurements
 */
export function readOptions(argv, known) {
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      json: { type: "string" },
      peers: { type: "boolean", default: false },
      "peers-dir": { type: "string", default: "../shared/bench" },
      help: { type: "boolean", default: false },
    },
  });
  const only = values.only?.split(",").map((name) => name.trim());
  const stranger = only?.find((name) => name !== "peers" && !known.includes(name));
  if (stranger !== undefined)
    throw new Error(`--only: there is no "${stranger}". Choose from ${known.join(", ")}, peers.`);
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 5));
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100)
    throw new Error("--rounds: pass a number from 1 to 100.");
  return {
    help: values.help,
    quick: values.quick,
    rounds,
    jsonFile: values.json,
    measurements: only ? known.filter((name) => only.includes(name)) : known,
    peersDir: values.peers || only?.includes("peers") ? values["peers-dir"] : undefined,
  };
}
