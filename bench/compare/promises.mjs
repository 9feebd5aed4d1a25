// The ratios that Fairmill promises, and the check that fails the benchmark when one is missed. Raw SQL and the other queues are measured
// in the same run, so a slow machine does not matter; what is left is noise, and a tenth is allowed for it.

const TOLERANCE = 0.1;
const RAW = "raw SQL";
const BEST_PEER = "best peer";

/** `of` names a system; without it the figure itself is promised. */
const PROMISES = [
  { figure: "drain, 1 process, jobs/s", atLeast: 0.8, of: RAW },
  { figure: "drain, 2 processes, jobs/s", atLeast: 0.85, of: RAW },
  { figure: "drain, 4 processes, jobs/s", atLeast: 0.85, of: RAW },
  { figure: "bulk of 1,000, jobs/s", atLeast: 0.9, of: RAW },
  { figure: "100 callers at once, jobs/s", atLeast: 1.5, of: "BullMQ on Redis" },
  { figure: "one at a time, jobs/s", atLeast: 0.85, of: RAW },
  { figure: "steady, jobs/s", atLeast: 0.75, of: RAW },
  { figure: "steady, last 5 s, jobs/s", atLeast: 0.75, of: RAW },
  { figure: "steady, old snapshot, last 5 s, jobs/s", atLeast: 2, of: BEST_PEER },
  { figure: "steady, old snapshot, last of second 5 s", atLeast: 0.8 },
  { figure: "latency p50, ms", atMost: 1.1, of: RAW },
  { figure: "latency p99, ms", atMost: 1.1, of: RAW },
  { figure: "idle, four workers, statements/s", atMost: 1 },
  { figure: "flood: jobs of the big tenant before the last of the others", atMost: 100 },
  { figure: "ten jobs per key, one active, of limits off", atLeast: 0.7 },
];

/**
 * What came of every promise.
 * @param {Map<string, Map<string, number>>} figures by name, then by system
 */
export function judge(figures) {
  return PROMISES.map((promise) => {
    const values = figures.get(promise.figure) ?? new Map();
    const ours = values.get("Fairmill");
    const theirs = promise.of === undefined ? 1 : referenceOf(values, promise);
    const reached = ours === undefined || theirs === undefined ? undefined : ours / theirs;
    return { ...promise, reached, isKept: reached === undefined ? undefined : isKept(promise, reached) };
  });
}

const isKept = ({ atLeast, atMost }, reached) =>
  atLeast === undefined ? reached <= atMost * (1 + TOLERANCE) : reached >= atLeast * (1 - TOLERANCE);

function referenceOf(values, { of, atLeast }) {
  if (of !== BEST_PEER) return values.get(of);
  const peers = [...values].filter(([name]) => name !== "Fairmill" && name !== RAW).map(([, value]) => value);
  if (peers.length === 0) return undefined;
  return atLeast === undefined ? Math.min(...peers) : Math.max(...peers);
}

/** In the words of a table: "≥ 0.8 of raw SQL". */
export const promiseInWords = ({ atLeast, atMost, of }) =>
  `${atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`}${of === undefined ? "" : ` of ${of}`}`;
