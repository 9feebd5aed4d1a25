// Which child gets a job. A strategy answers with a worker or with a typed refusal; a job that is refused waits in the supervisor until a
// child has capacity.
import { createHash } from "node:crypto";
import { FairmillError } from "../base/errors.js";
import type { ChildState } from "./life-cycle.js";

/** A job, as far as strategies see it. */
export interface AllocatableJob {
  readonly id: string;
  readonly kind: string;
  readonly queue: string;
  readonly tenant: string;
  readonly key: string | null;
  readonly crashes: number;
}

/** A child, as far as strategies see it. */
export interface PoolWorker {
  /** Its number in the pool: one that replaces it has another. */
  readonly number: number;
  readonly state: ChildState;
  /** Jobs that it runs now. */
  readonly running: number;
  /** Whether it could take this job now. */
  canAccept(job: AllocatableJob): boolean;
}

export class NoWorkersAvailableError extends FairmillError {
  override readonly name = "NoWorkersAvailableError";
  constructor() {
    super("FAIRMILL_NO_WORKERS", "No worker of the pool is ready. The job waits until one is.");
  }
}

export class WorkerBusyError extends FairmillError {
  override readonly name = "WorkerBusyError";
  constructor(message = "Every worker of the pool that could take the job is busy. The job waits until one is not.") {
    super("FAIRMILL_WORKER_BUSY", message);
  }
}

export type Allocation =
  | { readonly ok: true; readonly worker: PoolWorker }
  | { readonly ok: false; readonly error: NoWorkersAvailableError | WorkerBusyError };

export interface WorkerAllocationStrategy {
  /** `workers` are those that are ready or working, by number. */
  allocate(job: AllocatableJob, workers: readonly PoolWorker[]): Allocation;
}

const given = (worker: PoolWorker): Allocation => ({ ok: true, worker });
const none = (): Allocation => ({ ok: false, error: new NoWorkersAvailableError() });
const busy = (): Allocation => ({ ok: false, error: new WorkerBusyError() });

/** One after the other; those that cannot take the job are passed over. */
export class RoundRobinAllocation implements WorkerAllocationStrategy {
  /** A number, not an index: workers come and go. */
  #last = 0;

  allocate(job: AllocatableJob, workers: readonly PoolWorker[]): Allocation {
    if (workers.length === 0) return none();
    const start = workers.findIndex(({ number }) => number > this.#last);
    for (let i = 0; i < workers.length; i++) {
      const worker = workers[((start === -1 ? 0 : start) + i) % workers.length]!;
      if (!worker.canAccept(job)) continue;
      this.#last = worker.number;
      return given(worker);
    }
    return busy();
  }
}

/** The one that runs the fewest jobs. */
export class LeastBusyAllocation implements WorkerAllocationStrategy {
  allocate(job: AllocatableJob, workers: readonly PoolWorker[]): Allocation {
    if (workers.length === 0) return none();
    let best: PoolWorker | undefined;
    for (const worker of workers)
      if ((best === undefined || worker.running < best.running) && worker.canAccept(job)) best = worker;
    return best === undefined ? busy() : given(best);
  }
}

/**
 * Jobs of one key go to the same child, for what that keeps in memory: caches, connections, models. When children come or go, only the keys of
 * those move (rendezvous hashing). Where that child is busy another one gets the job, unless `strict`: then it waits.
 */
export class KeyAffinityAllocation implements WorkerAllocationStrategy {
  readonly #isStrict: boolean;
  readonly #others = new LeastBusyAllocation();

  constructor(options: { readonly strict?: boolean } = {}) {
    this.#isStrict = options.strict === true;
  }

  allocate(job: AllocatableJob, workers: readonly PoolWorker[]): Allocation {
    if (workers.length === 0) return none();
    const key = job.key === null ? job.tenant : `${job.tenant}/${job.key}`;
    let home = workers[0]!;
    let best = "";
    for (const worker of workers) {
      const weight = createHash("sha1").update(`${worker.number}/${key}`).digest("hex");
      if (weight <= best) continue;
      best = weight;
      home = worker;
    }
    if (home.canAccept(job)) return given(home);
    return this.#isStrict ? busy() : this.#others.allocate(job, workers);
  }
}

export const ALLOCATIONS = {
  "round-robin": () => new RoundRobinAllocation(),
  "least-busy": () => new LeastBusyAllocation(),
  "key-affinity": () => new KeyAffinityAllocation(),
} as const satisfies Record<string, () => WorkerAllocationStrategy>;
