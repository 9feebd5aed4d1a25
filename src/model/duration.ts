// Durations as people write them ("30s", "5m") or as numbers of milliseconds; inside always milliseconds.
import { ConfigError } from "./errors.js";

export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Turns a duration into milliseconds, or throws a ConfigError that names the setting. */
export function toMs(duration: Duration, setting: string): number {
  if (typeof duration === "number") {
    if (Number.isFinite(duration) && duration >= 0) return duration;
  } else if (typeof duration === "string") {
    const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(duration);
    if (match) return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  }
  throw new ConfigError(
    setting,
    `${setting}: ${JSON.stringify(duration)} is not a duration. Write "500ms", "30s", "5m", "2h", "1d", or a number of milliseconds.`,
  );
}
