// Moments and spans of time as people read them.

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
] as const;

/** "850ms", "45.2s", "4m 10s", "3h 5m", "2d 4h". */
export function spanOf(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  const seconds = Math.floor(ms / 1_000);
  if (ms < 3_600_000) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  const [first, second] = ms < 86_400_000 ? ([UNITS[1], UNITS[2]] as const) : ([UNITS[0], UNITS[1]] as const);
  return `${Math.floor(ms / first[1])}${first[0]} ${Math.floor((ms % first[1]) / second[1])}${second[0]}`;
}

/** "12.0s ago" or "in 4m 10s". */
export function relative(moment: Date, nowMs: number): string {
  const agoMs = nowMs - moment.getTime();
  return agoMs >= 0 ? `${spanOf(agoMs)} ago` : `in ${spanOf(-agoMs)}`;
}

/** A duration as it is written in settings: "1m", "90s", "1500ms". */
export function durationOf(ms: number): string {
  const [unit, unitMs] = [...UNITS, ["s", 1_000] as const, ["ms", 1] as const].find(([, size]) => ms % size === 0) ?? [
    "ms",
    1,
  ];
  return `${ms / unitMs}${unit}`;
}
