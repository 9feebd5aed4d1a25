// The one file of the pool that knows how a worker is made inside: its own process claims, settles and beats, and hands every run to a runner of the
// pool's make. Whatever changes in the worker, changes here.
import { type DecidedRun, Run, type RunEnds } from "../core/run/run.js";
import { Runner, type RunnerOptions, type RunsJobs } from "../core/run/runner.js";
import type { RunStores } from "../worker/assemble.js";
import { Worker } from "../worker/worker.js";
import type { WorkerOptions } from "../worker/worker-settings.js";

export { checkStop, type StopOptions } from "../worker/worker.js";
export { checkWorkerOptions } from "../worker/worker-settings.js";
export type { DecidedRun, RunEnds, RunnerOptions, RunStores, RunsJobs, Worker, WorkerOptions };
export { Run, Runner };

export interface PoolWorkerHooks {
  readonly makeRunner: (options: RunnerOptions, ends: RunEnds, stores: RunStores) => RunsJobs;
  readonly stats: () => object;
  /** A round of upkeep has succeeded. */
  readonly onUpkept: () => void;
}

export const createPoolWorker = (options: WorkerOptions, hooks?: PoolWorkerHooks): Worker => new Worker(options, hooks);
