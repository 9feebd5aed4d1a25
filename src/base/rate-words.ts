// A rate as people say it; `rate_words` says the same in the database.

const UNITS = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1_000, "second"],
] as const;

/** "100 per minute", "5 per 90 seconds", "1 per 250 ms". */
export function rateWords(limit: number, perMs: number): string {
  const [unitMs, unit] = UNITS.find(([ms]) => perMs % ms === 0) ?? [1, "ms"];
  if (perMs === unitMs) return `${limit} per ${unit}`;
  return `${limit} per ${perMs / unitMs} ${unit}${unitMs === 1 ? "" : "s"}`;
}
