// A limit replayed on runs that happened: which of them would have started later, and by how much. Pure: no database, no clock.

export interface PastRun {
  readonly startMs: number;
  /** A run that goes on still: now. */
  readonly endMs: number;
}

export interface ReplayedLimit {
  /** undefined: no cap. */
  readonly maxRunning: number | undefined;
  readonly rate: { readonly limit: number; readonly perMs: number; readonly how: "window" | "uniform" } | undefined;
}

export interface Replay {
  readonly starts: number;
  /** Starts that would have been later than they were. */
  readonly delayed: number;
  readonly delayMeanMs: number;
  readonly delayMaxMs: number;
  /** Starts that would have come after the time that was looked at, or never. */
  readonly notStarted: number;
  readonly mostAtOnce: number;
}

/** Runs keep their order and their length; a run starts when it did, or when the limit lets it, whichever is later. */
export function replay(runs: readonly PastRun[], limit: ReplayedLimit, untilMs: number): Replay {
  const running: number[] = [];
  const starts: number[] = [];
  const delays: number[] = [];
  let [notStarted, mostAtOnce] = [0, 0];
  for (const { startMs, endMs } of runs.toSorted((a, b) => a.startMs - b.startMs)) {
    const openMs = limit.maxRunning === 0 ? Number.POSITIVE_INFINITY : rateOpenMs(starts, limit.rate);
    let atMs = Math.max(startMs, openMs, starts.at(-1) ?? Number.NEGATIVE_INFINITY);
    while (running.length > 0 && running[0]! <= atMs) running.shift();
    while (running.length >= (limit.maxRunning ?? Number.POSITIVE_INFINITY) && running.length > 0)
      atMs = Math.max(atMs, running.shift()!);
    if (atMs > startMs) delays.push(Math.min(atMs, untilMs) - startMs);
    if (atMs > untilMs) {
      notStarted++;
      // What comes behind it waits as well: nothing more would start in this time.
      starts.push(atMs);
      continue;
    }
    starts.push(atMs);
    insert(running, atMs + (endMs - startMs));
    mostAtOnce = Math.max(mostAtOnce, running.length);
  }
  return {
    ...{ starts: runs.length, delayed: delays.length, notStarted, mostAtOnce },
    delayMeanMs: delays.length === 0 ? 0 : delays.reduce((sum, ms) => sum + ms, 0) / delays.length,
    delayMaxMs: delays.reduce((most, ms) => Math.max(most, ms), 0),
  };
}

/** From when on one more may start, after these. */
function rateOpenMs(starts: readonly number[], rate: ReplayedLimit["rate"]): number {
  if (rate === undefined) return Number.NEGATIVE_INFINITY;
  const { limit, perMs, how } = rate;
  if (how === "uniform") return (starts.at(-1) ?? Number.NEGATIVE_INFINITY) + perMs / limit;
  return starts.length < limit ? Number.NEGATIVE_INFINITY : starts[starts.length - limit]! + perMs;
}

function insert(sorted: number[], value: number): void {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle]! <= value) from = middle + 1;
    else to = middle;
  }
  sorted.splice(from, 0, value);
}
