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

/** The moment as the clocks of a zone show it: "Tue 2026-11-17 03:00:00 +01:00 Europe/Madrid". */
export function inZone(moment: Date, timeZone: string): string {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "longOffset",
  }).formatToParts(moment);
  const part = new Map(parts.map(({ type, value }) => [type, value]));
  const offset = part.get("timeZoneName")!.replace("GMT", "") || "+00:00";
  const day = `${part.get("weekday")} ${part.get("year")}-${part.get("month")}-${part.get("day")}`;
  return `${day} ${part.get("hour")}:${part.get("minute")}:${part.get("second")} ${offset} ${timeZone}`;
}
