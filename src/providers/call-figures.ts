// Figures of calls, added up in memory and written with the next word to the database, every few seconds.

/** Upper bounds of the buckets, in milliseconds; the last bucket has none. A stored row has the counts in this order. */
const LATENCY_BOUNDS_MS = [
  5, 10, 25, 50, 100, 200, 350, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000,
  60_000, 120_000, 300_000,
] as const;

export class CallFigures {
  #calls = 0;
  #failures = 0;
  #limited = 0;
  #sumMs = 0;
  #maxMs = 0;
  #buckets: number[] = LATENCY_BOUNDS_MS.map(() => 0).concat(0);

  get isEmpty(): boolean {
    return this.#calls + this.#limited === 0;
  }

  /** Calls that were refused for a limit took no time worth counting. */
  add(result: "ok" | "failed" | "limited" | "refused", tookMs: number): void {
    if (result === "limited") {
      this.#limited++;
      return;
    }
    this.#calls++;
    if (result === "failed") this.#failures++;
    this.#sumMs += tookMs;
    this.#maxMs = Math.max(this.#maxMs, tookMs);
    const found = LATENCY_BOUNDS_MS.findIndex((bound) => tookMs <= bound);
    this.#buckets[found < 0 ? LATENCY_BOUNDS_MS.length : found]!++;
  }

  /** What was added up since the last time. */
  take() {
    const taken = {
      calls: this.#calls,
      failures: this.#failures,
      limited: this.#limited,
      sum_ms: this.#sumMs,
      max_ms: this.#maxMs,
      buckets: this.#buckets,
    };
    this.#calls = 0;
    this.#failures = 0;
    this.#limited = 0;
    this.#sumMs = 0;
    this.#maxMs = 0;
    this.#buckets = LATENCY_BOUNDS_MS.map(() => 0).concat(0);
    return taken;
  }
}

/** The bound of the bucket in which this share of the calls lies; null: there were none. */
export function latencyAt(buckets: readonly number[], share: number): number | null {
  const sum = buckets.reduce((all, one) => all + one, 0);
  if (sum === 0) return null;
  let seen = 0;
  for (const [n, count] of buckets.entries()) {
    seen += count;
    if (seen >= share * sum) return LATENCY_BOUNDS_MS[n] ?? LATENCY_BOUNDS_MS.at(-1)!;
  }
  return LATENCY_BOUNDS_MS.at(-1)!;
}
