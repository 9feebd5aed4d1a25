// The one file of the pool that knows how a worker is made inside: its own process claims, settles and beats, and hands every run to a runner of the
// pool's make. Whatever changes in the worker, changes here.
import { type DecidedRun, Run, type RunEnds } from "../core/run/run.js";
import { type JobRunner, Runner, type RunnerOptions } from "../core/run/runner.js";
import type { Parts } from "../core/worker/worker-context.js";
import { Worker } from "../worker/worker.js";
import type { WorkerOptions } from "../worker/worker-settings.js";

export { checkWorkerOptions } from "../worker/worker-settings.js";
export type { DecidedRun, JobRunner, RunEnds, RunnerOptions, Worker, WorkerOptions };
export { Run, Runner };
/** What the worker shares with what runs its jobs: the database, the clock, the log. */
export type WorkerParts = Parts;

export interface PoolWorkerHooks {
  readonly makeRunner: (options: RunnerOptions, ends: RunEnds, parts: WorkerParts) => JobRunner;
  readonly stats: () => object;
  /** A round of upkeep has succeeded. */
  readonly onUpkept: () => void;
}

export const createPoolWorker = (options: WorkerOptions, hooks?: PoolWorkerHooks): Worker => new Worker(options, hooks);
