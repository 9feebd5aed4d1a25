// The buckets of all histograms of times: fixed, so that those of many workers and hours can be added up.

/** Upper bounds in milliseconds, inclusive; one more bucket holds everything above. */
export const BUCKETS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000] as const;

/** The index of the bucket of a time. Most jobs are short: from below. */
export function bucketOf(ms: number): number {
  let index = 0;
  while (index < BUCKETS_MS.length && ms > BUCKETS_MS[index]!) index++;
  return index;
}

/** Without the empty buckets at its end: most histograms are short. */
export function trimmed(histogram: readonly number[]): number[] {
  return histogram.slice(0, histogram.findLastIndex((count) => count > 0) + 1);
}
