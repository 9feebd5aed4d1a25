// How long to wait before the next attempt. Pure: the dice are a parameter.
import { type Duration, toMs } from "../../base/duration.js";
import { ConfigError } from "../../base/errors.js";
import { refuseUnknown } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";

/** Milliseconds to wait after the given failed attempt (1 for the first). `random` is a number in [0, 1). */
export type Backoff = (attempt: number, random: number) => number;

const DEFAULT_CAP_MS = 300_000;

/** `base`, doubled with every attempt up to `cap`, spread over ± half of `jitter`: failed jobs must not come back in step. */
export function exponential(
  options: { base?: Duration; cap?: Duration; factor?: number; jitter?: number } = {},
): Backoff {
  refuseUnknown(options, ["base", "cap", "factor", "jitter"], "exponential");
  const baseMs = toMs(options.base ?? "2s", "retry.backoff.base");
  const capMs = toMs(options.cap ?? Math.max(baseMs, DEFAULT_CAP_MS), "retry.backoff.cap");
  if (capMs < baseMs) throw new ConfigError("retry.backoff.cap", "retry.backoff.cap: must not be shorter than base.");
  const factor = numberWithin(options.factor ?? 2, 1, 100, "retry.backoff.factor");
  const jitter = numberWithin(options.jitter ?? 0.2, 0, 2, "retry.backoff.jitter");
  return (attempt, random) => {
    const plainMs = Math.min(capMs, baseMs * factor ** Math.min(attempt - 1, 60));
    return Math.max(0, Math.round(plainMs * (1 + jitter * (random - 0.5))));
  };
}

/** The same wait after every attempt. */
export function fixed(delay: Duration): Backoff {
  const delayMs = toMs(delay, "retry.backoff");
  return () => delayMs;
}

function numberWithin(value: number, min: number, max: number, setting: string): number {
  if (typeof value === "number" && value >= min && value <= max) return value;
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not a number from ${min} to ${max}.`);
}
