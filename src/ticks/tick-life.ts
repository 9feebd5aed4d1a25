// The life of one tick between register and goodbye: claims and runs while there is time, then lets what runs come to its end.
import { within } from "../base/clock.js";
import { ShutdownError } from "../base/errors.js";
import type { ActiveJobs } from "../core/worker/active-jobs.js";
import { logClaims } from "../core/worker/claim-log.js";
import type { WorkerContext } from "../core/worker/worker-context.js";
import type { TickClaimer } from "./tick-claimer.js";
import type { TickServices } from "./tick-services.js";
import type { TickSettings } from "./tick-settings.js";
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
  readonly context: WorkerContext;
  readonly claimer: TickClaimer;
  readonly jobs: ActiveJobs;
  readonly services: TickServices;
  readonly times: Times;
}

/** Of the grace period: until what still runs is told to stop. The rest is for verdicts, the row and the answer. */
const ABORT_SHARE = 0.6;
/** A tick that has so much of its time left has only begun. */
const YOUNG_SHARE = 0.9;

export function timesOf(startMs: number, { budgetMs, graceMs }: Pick<TickSettings, "budgetMs" | "graceMs">): Times {
  const endMs = startMs + budgetMs;
  const closeMs = endMs - graceMs;
  return { startMs, closeMs, abortMs: closeMs + graceMs * ABORT_SHARE, endMs };
}

/** Until nothing is ready, the tick has its share of jobs, or its time to claim is over. */
export async function claimAndRun(
  { context: { clock, events, identity, log }, claimer, jobs, times }: Life,
  jobsMax: number,
  usual: UsualRuns,
): Promise<void> {
  const worker = identity.id;
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
    } else if (jobs.size > 0) await within(clock, leftMs, jobs.changed());
    // All lanes are empty, or closed, and nothing runs. What came in, or was made by the jobs of this tick, is found by another look.
    else if (isFresh) return;
    else {
      isFresh = true;
      claimer.forget();
    }
  }
}

/** Lets what runs come to its end within the grace period; the rest is told to stop and given back. */
export async function windDown({ context: { clock, settings }, jobs, services, times }: Life): Promise<void> {
  const until = async (atMs: number, work: Promise<unknown>) => {
    const leftMs = atMs - clock.monotonic();
    if (leftMs > 0) await within(clock, leftMs, work);
  };
  // Jobs that are claimed and wait for their turn are begun while there is time.
  while (jobs.size > 0 && clock.monotonic() < times.closeMs) await until(times.closeMs, jobs.changed());
  jobs.releaseWaiting();
  await until(times.abortMs, jobs.decided());
  jobs.abortAll(new ShutdownError());
  await within(clock, settings.abortGraceMs + 100, jobs.decided());
  const settled = services.stop().then(() => jobs.settled());
  await within(clock, Math.max(1_000, times.endMs - clock.monotonic()), settled);
  jobs.abandon();
}
