// The only place that reads the machine's clock, sets timers or rolls dice. Everything else is handed a `Clock`.
import { ConfigError } from "./errors.js";
import { readable } from "./settings.js";

export interface Clock {
  /** Milliseconds since 1970: for people and logs. */
  now(): number;
  /** Milliseconds that never run backwards, comparable between threads of one process: for measuring. */
  monotonic(): number;
  /** Calls `then` once after `ms`; the returned function forgets it. It keeps the process alive until then. */
  after(ms: number, then: () => void): () => void;
  /** A number in [0, 1). */
  random(): number;
}

/** Throws unless it is a clock. */
export function checkClock(clock: unknown): Clock {
  const isClock = readable("clock", "clock", () =>
    (["now", "monotonic", "after", "random"] as const).every(
      (name) => typeof (clock as Partial<Clock> | null)?.[name] === "function",
    ),
  );
  if (isClock) return clock as Clock;
  throw new ConfigError("clock", "clock: must have now, monotonic, after and random. Leave it out outside of tests.");
}

/** Timers take at most this many milliseconds (2^31 - 1): a longer one would fire at once. */
const TIMER_MS_MAX = 2_147_483_647;

/** `performance.now()`, the cheaper reading of the same clock, counts from here. Nobody promises threads the same origin. */
const ORIGIN_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => ORIGIN_MS + performance.now(),
  after: (ms, then) => {
    // Not unref'd: while the database is away, a timer may be all that a worker has left to live on.
    const timer = setTimeout(then, Math.min(Math.max(0, ms), TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Waits `ms`, or until the signal aborts: never rejects, the caller looks at the signal. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      forget();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const forget = clock.after(ms, end);
    signal?.addEventListener("abort", end, { once: true });
  });
}

/** Waits for the work, but not longer than this. True: it was done. */
export async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const nap = new AbortController();
  try {
    return await Promise.race([work.then(() => true), sleep(clock, ms, nap.signal).then(() => false)]);
  } finally {
    nap.abort();
  }
}
