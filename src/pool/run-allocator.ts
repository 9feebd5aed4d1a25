// Which child gets a run: as the strategy says, the least busy one where it fails; and for a job that may have killed processes one to itself.
import type { Logger } from "../base/log.js";
import type { Claim } from "../core/job/claim.js";
import { LeastBusyAllocation, type WorkerAllocationStrategy } from "./allocation.js";
import type { Child } from "./child.js";
import type { RemoteRun } from "./remote-run.js";

export interface RunAllocatorOptions {
  readonly allocation: WorkerAllocationStrategy;
  /** Children that are ready or working, by number. */
  readonly children: () => readonly Child[];
  readonly crashesMax: number;
  readonly log: Logger;
}

export class RunAllocator {
  readonly #options: RunAllocatorOptions;
  readonly #fallback = new LeastBusyAllocation();

  constructor(options: RunAllocatorOptions) {
    this.#options = options;
  }

  /** Undefined: none can take it now. */
  childFor(run: RemoteRun): Child | undefined {
    const children = this.#options.children();
    if (this.#isSuspect(run.claim)) return this.#childAlone(run, children);
    try {
      const { allocation } = this.#options;
      const answer = allocation.allocate(run.claim, children);
      if (!answer.ok) return undefined;
      const child = children.find((one) => one === answer.worker);
      if (child?.canAccept(run.claim)) return child;
      throw new Error("it named a worker that is not of the pool, or that cannot accept the job");
    } catch (error) {
      this.#options.log.error(
        { error: String(error) },
        "The allocation strategy failed: the least busy worker gets the job",
      );
      const answer = this.#fallback.allocate(run.claim, children);
      return answer.ok ? (answer.worker as Child) : undefined;
    }
  }

  /** It will not run here: no child is kept for it. */
  forget(run: RemoteRun): void {
    for (const child of this.#options.children()) if (child.suspect === run) child.suspect = undefined;
  }

  #isSuspect(claim: Claim): boolean {
    return claim.crashes > 0 && claim.crashes >= this.#options.crashesMax - 1;
  }

  /** A job that may have killed processes gets one to itself: an idle one, or the first that is done with what it runs. */
  #childAlone(run: RemoteRun, children: readonly Child[]): Child | undefined {
    let child = children.find((one) => one.suspect === run);
    if (child === undefined) {
      if (isTaken(children)) return undefined;
      const answer = this.#fallback.allocate(run.claim, children);
      if (!answer.ok) return undefined;
      child = answer.worker as Child;
      child.suspect = run;
    }
    if (child.runs.size > 0) return undefined;
    const { worker, id: job, kind, crashes } = run.claim;
    this.#options.log.warn(
      { worker, job, kind, crashes, child: child.number },
      "Running this job alone in its process",
    );
    return child;
  }
}

/** Half of the children, one at least, may be kept for jobs that run alone: whatever their number, other jobs go on in the rest. */
const isTaken = (children: readonly Child[]): boolean =>
  children.filter(({ suspect }) => suspect !== undefined).length >= Math.max(1, Math.floor(children.length / 2));
