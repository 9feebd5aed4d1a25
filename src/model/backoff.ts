// How long to wait before the next attempt. Pure: the dice are a parameter.
import { type Duration, toMs } from "./duration.js";

/** Milliseconds to wait after the given failed attempt (1 for the first). `random` is a number in [0, 1). */
export type Backoff = (attempt: number, random: number) => number;

/** `base`, doubled with every attempt up to `cap`, spread over ± half of `jitter`: failed jobs must not come back in step. */
export function exponential(
  options: { base?: Duration; cap?: Duration; factor?: number; jitter?: number } = {},
): Backoff {
  const baseMs = toMs(options.base ?? "2s", "retry.backoff.base");
  const capMs = toMs(options.cap ?? "5m", "retry.backoff.cap");
  const factor = options.factor ?? 2;
  const jitter = options.jitter ?? 0.2;
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
