// Durations as people write them ("30s", "5m") or as numbers of milliseconds; inside always milliseconds.
import { ConfigError } from "./errors.js";
import { showValue } from "./show-value.js";

export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A hundred years: longer than that, and sooner or later a time lies beyond what PostgreSQL can write. */
const DAYS_MAX = 36_500;
export const DURATION_MS_MAX = DAYS_MAX * UNIT_MS.d;

/** Turns a duration into milliseconds, or throws a ConfigError that names the setting. */
export function toMs(duration: Duration, setting: string): number {
  const ms = parse(duration);
  if (ms !== undefined && ms <= DURATION_MS_MAX) return ms;
  throw new ConfigError(
    setting,
    ms !== undefined
      ? `${setting}: ${showValue(duration)} is longer than ${DAYS_MAX} days.`
      : `${setting}: ${showValue(duration)} is not a duration. Write "500ms", "30s", "5m", "2h", "1d", or a number of milliseconds.`,
  );
}

function parse(duration: unknown): number | undefined {
  if (typeof duration === "number") return Number.isFinite(duration) && duration >= 0 ? duration : undefined;
  if (typeof duration !== "string") return undefined;
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(duration);
  return match ? Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] : undefined;
}
