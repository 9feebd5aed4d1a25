// The command line of the benchmark.
import { parseArgs } from "node:util";

export const HELP = `Usage: npm run bench -- [options]

Measures Fairmill beside hand-written SQL on one PostgreSQL, in one run. Progress goes to stderr, the tables to stdout.

  --only a,b        only these measurements: MEASUREMENTS
  --quick           a tenth of the sizes: a few minutes, good for "does it still work", not for figures
  --rounds N        how often the contestants take turns (default 5; 2 with --peers; 1 with --quick)
  --json FILE       also write every figure to FILE
  --peers           run pg-boss, graphile-worker and BullMQ (installed in bench/peers on the first run; BullMQ needs
                    redis-server), and fail when a promised ratio is missed by more than a tenth; other measurements
                    only if --only names them
  --scenarios a,b   of the peers' table, only these: SCENARIOS
  --minutes N       how long the steady runs of the peers' table take (default 1, with --record 5); those that no promise compares at
                    their end take 45 s at most, and the table says so
  --record          write the peers' table and the picture of the steady runs into docs/explanation/benchmarks.md, and the drain into the
                    README, the table and picture of users into docs/explanation/sticker-crowds.md; with --peers about 33 minutes on a quiet machine of two cores, with --minutes 1 about 20
  --help

BENCH_DATABASE_URL   a PostgreSQL of yours (as superuser) instead of the embedded one
TMPDIR               where the embedded one keeps its data: choose a real disk, not a memory file system`;

/**
 * What to do; throws an Error with a sentence for the user when the arguments make no sense.
 * @param {string[]} argv
 * @param {string[]} known names of all measurements
 * @param {string[]} scenarios titles of all scenarios of the peers' table
 */
export function readOptions(argv, known, scenarios) {
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      json: { type: "string" },
      peers: { type: "boolean", default: false },
      scenarios: { type: "string" },
      minutes: { type: "string" },
      record: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const only = values.only && listOf("--only", values.only, [...known, "peers"]);
  const hasPeers = values.peers || only?.includes("peers") === true;
  const minutes = Number(values.minutes ?? (values.record ? 5 : 1));
  if (!(minutes > 0 && minutes <= 60)) throw new Error("--minutes: pass a number up to 60.");
  const rounds = Number(values.rounds ?? (values.quick ? 1 : hasPeers ? 2 : 5));
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100)
    throw new Error("--rounds: pass a number from 1 to 100.");
  return {
    help: values.help,
    quick: values.quick,
    rounds,
    jsonFile: values.json,
    measurements: only ? known.filter((name) => only.includes(name)) : hasPeers ? [] : known,
    hasPeers,
    scenarios: values.scenarios && listOf("--scenarios", values.scenarios, scenarios),
    steadySeconds: values.quick ? 10 : 60 * minutes,
    isRecorded: values.record,
  };
}

function listOf(option, text, known) {
  // Titles contain commas, so the longest known one that fits is taken first.
  const chosen = [];
  let rest = text.trim();
  while (rest !== "") {
    const name = known
      .filter((one) => rest === one || rest.startsWith(`${one},`))
      .sort((a, b) => b.length - a.length)[0];
    if (name === undefined) throw new Error(`${option}: there is no "${rest}". Choose from ${known.join(" · ")}.`);
    chosen.push(name);
    rest = rest.slice(name.length + 1).trim();
  }
  return chosen;
}
