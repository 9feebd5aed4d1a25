// The life of one tick between register and goodbye: claims and runs while there is time, then lets what runs come to its end.
import { type Clock, sleep } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import { logClaims } from "../core/worker/claim-log.js";
import type { WorkerEmitter } from "../core/worker/worker-events.js";
import { cancelRequests } from "../core/worker/worker-statements.js";
import type { Database } from "../db/database.js";
import type { TickClaimer } from "./tick-claimer.js";
import type { TickSettings } from "./tick-settings.js";
import type { TickJobs } from "./tick-worker.js";
import type { UsualRuns } from "./usual-runs.js";

/** When a tick does what, by the monotonic clock. */
export interface Times {
  readonly startMs: number;
  /** From here on nothing is claimed, and jobs with steps stop at their next one. */
  readonly closeMs: number;
  /** From here on what still runs is told to stop. */
  readonly abortMs: number;
  readonly endMs: number;
}

export interface Life {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly worker: string;
  readonly claimer: TickClaimer;
  readonly jobs: TickJobs;
  readonly events: WorkerEmitter;
  readonly times: Times;
  readonly trouble: (doing: string, error: unknown) => void;
}

/** Of the grace period: until what still runs is told to stop. The rest is for verdicts, the row and the answer. */
const ABORT_SHARE = 0.6;
/** A tick that has so much of its time left has only begun. */
const YOUNG_SHARE = 0.9;
/** Jobs that another session asked to cancel are looked for this often. */
const CANCELS_MS = 2_000;

export function timesOf(startMs: number, { budgetMs, graceMs }: Pick<TickSettings, "budgetMs" | "graceMs">): Times {
  const endMs = startMs + budgetMs;
  const closeMs = endMs - graceMs;
  return { startMs, closeMs, abortMs: closeMs + graceMs * ABORT_SHARE, endMs };
}

/** Until nothing is ready, the tick has its share of jobs, or its time to claim is over. */
export async function claimAndRun(
  { clock, log, worker, claimer, jobs, events, times }: Life,
  jobsMax: number,
  usual: UsualRuns,
): Promise<void> {
  let left = jobsMax;
  let isFresh = true;
  while (left > 0 && clock.monotonic() < times.closeMs) {
    const demand = jobs.demand();
    const leftMs = times.closeMs - clock.monotonic();
    const isYoung = leftMs >= (times.closeMs - times.startMs) * YOUNG_SHARE;
    const kinds = usual.fitting(leftMs, isYoung ? times.abortMs - times.startMs : 0);
    if (kinds.length === 0) return;
    const claims = demand.size === 0 ? [] : await claimer.claim(demand, left, kinds);
    left -= claims.length;
    if (claims.length > 0) {
      isFresh = false;
      events.emit("claimed", { worker, claims });
      logClaims(log, worker, claims);
      jobs.take(claims);
    } else if (jobs.size() > 0) await within(clock, leftMs, jobs.changed());
    // All lanes are empty, or closed, and nothing runs. What came in, or was made by the jobs of this tick, is found by another look.
    else if (isFresh) return;
    else {
      isFresh = true;
      claimer.forget();
    }
  }
}

/** Lets what runs come to its end within the grace period; the rest is told to stop and given back. */
export async function windDown({ clock, jobs, times }: Life, abortGraceMs: number): Promise<void> {
  // Jobs that are claimed and wait for their turn are begun while there is time.
  while (jobs.size() > 0 && clock.monotonic() < times.closeMs)
    await within(clock, times.closeMs - clock.monotonic(), jobs.changed());
  jobs.releaseWaiting();
  await within(clock, times.abortMs - clock.monotonic(), jobs.decided());
  jobs.abort();
  await within(clock, abortGraceMs + 100, jobs.decided());
  await within(clock, Math.max(1_000, times.endMs - clock.monotonic()), jobs.settled());
  jobs.abandon();
}

/** Tells running jobs that they are cancelled, until the signal aborts. */
export async function watchCancels({ db, clock, worker, jobs, trouble }: Life, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(clock, CANCELS_MS, signal);
    if (signal.aborted) return;
    try {
      jobs.cancel(worker, await cancelRequests(db, worker));
    } catch (error) {
      trouble("asking for cancelled jobs", error);
    }
  }
}

/** Waits for the work, but not longer than this. */
async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  if (ms <= 0) return;
  const nap = new AbortController();
  try {
    await Promise.race([work, sleep(clock, ms, nap.signal)]);
  } finally {
    nap.abort();
  }
}
