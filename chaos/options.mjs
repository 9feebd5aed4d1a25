// The command line of the fault programme.
import { parseArgs } from "node:util";
import { FAULTS } from "./faults.mjs";

const NAMES = Object.keys(FAULTS);
export const HELP = `Usage: npm run chaos -- [options]

Four workers (two processes, a supervisor with two children, ticks) under a mixed load while processes are killed and stopped, connections are cut and
PostgreSQL crashes. Then everything must have ended as it must, and every invariant must hold.

  --minutes N      how long (default 2)
  --seed S         throws the same dice again (default: of the moment; printed)
  --faults a,b     ${NAMES.join(", ")}; or none: the exit criterion C10 (default: all)
  --rate N         jobs that are enqueued a second (default 60)
  --json           print the figures as JSON
  --programme stickers [--requests N] [--seed S] [--json]
                   instead: N users (default 500) ask the sticker bot while its workers and supervisor are killed, PostgreSQL
                   crashes and providers fail
  --help`;

const MINUTES_MAX = 24 * 60;

/** Throws an Error with a sentence for the user when the arguments make no sense. */
export function readOptions(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      minutes: { type: "string", default: "2" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      faults: { type: "string", default: NAMES.join(",") },
      rate: { type: "string", default: "60" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const faults = values.faults === "none" ? [] : values.faults.split(",").map((name) => name.trim());
  for (const name of faults)
    if (!NAMES.includes(name))
      throw new Error(`--faults: there is no "${name}". Choose from ${NAMES.join(", ")}, none.`);
  return {
    help: values.help,
    json: values.json,
    seconds: 60 * numberOf("--minutes", values.minutes, 0, MINUTES_MAX),
    seed: numberOf("--seed", values.seed, -1, 2 ** 32),
    jobsPerSecond: numberOf("--rate", values.rate, 0, 10_000),
    faults,
  };
}

function numberOf(option, text, above, most) {
  const value = Number(text);
  if (text.trim() !== "" && value > above && value <= most) return value;
  throw new Error(`${option}: pass a number above ${above} and at most ${most}.`);
}
