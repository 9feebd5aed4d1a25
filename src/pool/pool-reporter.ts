// Writes what a supervisor and its children are doing, for people and for the supervisors of other hosts.
import { hostname } from "node:os";
import { VERSION } from "../base/version.js";
import type { Database } from "../db/database.js";
import type { ChildFacts } from "./child.js";
import { reportPool } from "./pool-statements.js";
import { kindsOf, type SupervisorSettings } from "./supervisor-settings.js";

export interface PoolReporterOptions {
  readonly db: Database;
  readonly supervisor: string;
  readonly startedAtMs: number;
  readonly settings: () => SupervisorSettings;
  readonly worker: () => string | null;
  readonly health: () => object;
  readonly children: () => readonly ChildFacts[];
  readonly meanRunMs: () => number | undefined;
}

export class PoolReporter {
  readonly #options: PoolReporterOptions;
  #hosts = 1;

  constructor(options: PoolReporterOptions) {
    this.#options = options;
  }

  /** Supervisors of the pool that live, as the last report was answered. */
  get hosts(): number {
    return this.#hosts;
  }

  async report(): Promise<number> {
    const { db, supervisor: id, startedAtMs, settings, worker, health, children, meanRunMs } = this.#options;
    const { pool, capacity, worker: options } = settings();
    this.#hosts = await reportPool(
      db,
      pool.pool,
      {
        ...{ id, worker: worker(), host: hostname(), pid: process.pid, version: VERSION, startedAtMs },
        health: health(),
        everyMs: pool.healthMs,
      },
      children(),
      {
        min: pool.min,
        max: pool.max,
        capacity: Math.max(...capacity.values()) * (pool.pods?.childrenPerPod ?? 1),
        policy: pool.policy,
        targetWaitMs: pool.targetWaitMs,
        meanRunMs: meanRunMs(),
        queues: [...capacity.keys()],
        kinds: kindsOf(options),
        childrenPerPod: pool.pods?.childrenPerPod,
      },
    );
    return this.#hosts;
  }
}
