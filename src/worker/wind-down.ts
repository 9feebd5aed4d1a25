// The stop of a worker: its services in reverse order, each within its time, whatever the database does or does not.
//
//  1. Claim no more.                                            4. Write the last progress, logs and verdicts.
//  2. Let running jobs end within the grace period.             5. End upkeep, write the last figures, say goodbye, close.
//  3. Abort the rest, release them without spending an attempt.

import { within } from "../base/clock.js";
import { ShutdownError } from "../base/errors.js";
import type { ServiceLoop } from "../base/service.js";
import type { ProgressKeeper } from "../core/settle/progress.js";
import type { ActiveJobs } from "../core/worker/active-jobs.js";
import type { Incarnation } from "../core/worker/incarnation.js";
import type { WorkerContext } from "../core/worker/worker-context.js";
import type { IntervalRecorder } from "../intervals/interval-recorder.js";
import type { LogKeeper } from "../logs/log-keeper.js";
import type { Desks } from "../providers/desks.js";

/** How long a stop may take beyond the times that jobs are given to end: to write the last verdicts, and to say goodbye. */
const LAST_WORDS_MS = 10_000;
/** How much of that is for the verdicts. */
const LAST_SETTLE_MS = 8_000;
/** When no answer is awaited any more, everything fails at once; this is for what does not. */
const FALL_MS = 500;

/** What is to be stopped. */
export interface Stoppable {
  readonly jobs: ActiveJobs;
  readonly incarnation: Incarnation;
  readonly progress: ProgressKeeper;
  readonly logs: LogKeeper;
  readonly providers: Desks;
  readonly intervals: IntervalRecorder;
  readonly loops: {
    readonly [Name in
      | "progress"
      | "logs"
      | "providers"
      | "intervals"
      | "upkeep"
      | "listener"
      | "bulk"
      | "work"]: ServiceLoop;
  } & {
    readonly alerts?: ServiceLoop;
    readonly contents?: ServiceLoop;
  };
}

export interface Stopped {
  /** False: the worker had not started, so there was nothing to stop. */
  readonly isStarted: boolean;
  /** Jobs that were still held and went back. */
  readonly released: number;
}

/** Comes to an end in any case. `whenStarted`: a start that is under way is awaited first; false when it came to nothing. */
export async function windDown(
  context: WorkerContext,
  worker: Stoppable,
  graceMs: number,
  whenStarted: () => Promise<boolean>,
): Promise<Stopped> {
  const { clock, db, identity, log, settings } = context;
  let stopped: Stopped = { isStarted: false, released: 0 };
  const stopAll = async () => {
    const isStarted = await whenStarted();
    stopped = { isStarted, released: 0 };
    if (isStarted) stopped = { isStarted, released: await stopInOrder(context, worker, graceMs) };
    else await db.close();
  };
  const end = stopAll();
  if (await within(clock, graceMs + settings.abortGraceMs + LAST_WORDS_MS, end)) return stopped;
  log.warn(
    { worker: identity.id, running: worker.jobs.size },
    "The database does not answer: leaving without a goodbye. Others take the jobs over when the lease is over",
  );
  worker.jobs.abandon();
  db.abandon();
  await within(clock, FALL_MS, Promise.all([end, worker.incarnation.abandon()]));
  return stopped;
}

/** Resolves with the number of jobs that were still held and went back. */
async function stopInOrder(context: WorkerContext, worker: Stoppable, graceMs: number): Promise<number> {
  const { clock, db, identity, log, settings } = context;
  const { jobs, incarnation, progress, logs, providers, intervals, loops } = worker;
  log.info({ worker: identity.id, running: jobs.size }, "Worker stopping");
  incarnation.retire();
  jobs.releaseWaiting();
  // What a claim brings that is still on its way goes back as well.
  const claimed = loops.work.stop().then(() => jobs.releaseWaiting());
  const listened = loops.listener.stop();
  // Its failure is thrown further down; until then it must not count as unhandled.
  listened.catch(() => {});

  await within(
    clock,
    graceMs,
    claimed.then(() => jobs.decided()),
  );
  jobs.abortAll(new ShutdownError());
  await within(clock, settings.abortGraceMs + 100, jobs.decided());
  const reported = loops.progress.stop().then(() => progress.runOnce());
  const logged = loops.logs.stop().then(() => logs.runOnce());
  const called = loops.providers.stop().then(() => providers.leave());
  const written = Promise.all([claimed, listened, reported, logged, called]).then(() => jobs.settled());
  await within(clock, LAST_SETTLE_MS, written);
  jobs.abandon();
  const recorded = loops.intervals.stop().then(() => intervals.runOnce());
  await Promise.all([loops.upkeep.stop(), loops.bulk.stop(), loops.alerts?.stop(), loops.contents?.stop(), recorded]);
  const released = await incarnation.stop();
  await db.close();
  return released;
}
