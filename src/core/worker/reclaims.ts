// Jobs that come a second time. A claim may bring a job whose handler still runs in this process: PostgreSQL has crashed or failed over and
// forgotten the first claim, or has taken the job away without our knowing. The first run has lost its lease, and two handlers of one job
// must not run side by side: the later claim waits until the handler of the first one has ended.
import type { Claim } from "../job/claim.js";
import type { Run } from "../run/run.js";

export class Reclaims {
  /** By job: whose handler has begun and not ended. */
  readonly #going = new Map<string, Run>();
  /** By job: the claim that waits for that. */
  readonly #waiting = new Map<string, Claim>();

  /** Claims that wait. */
  get waiting(): Claim[] {
    return [...this.#waiting.values()];
  }

  /** The handler of this run did not end at once. */
  begun(run: Run): void {
    this.#going.set(run.claim.id, run);
  }

  /** The handler of this run has ended. Returns the claim that waited for it. */
  over(run: Run): Claim | undefined {
    const { id } = run.claim;
    // One that was given up may end when another run of its job has begun.
    if (this.#going.get(id) !== run) return undefined;
    this.#going.delete(id);
    return this.withdraw(id);
  }

  /** The run that has lost its lease because of this claim; undefined: none. One that has its verdict waits for nothing but its settle. */
  outdatedBy(claim: Claim): Run | undefined {
    const run = this.#going.size > 0 ? this.#going.get(claim.id) : undefined;
    return run?.isDecided ? undefined : run;
  }

  /** Lets the claim wait; returns the one that waited before it, which is outdated, too. */
  wait(claim: Claim): Claim | undefined {
    const before = this.withdraw(claim.id);
    this.#waiting.set(claim.id, claim);
    return before;
  }

  /** Takes a claim out that waits. */
  withdraw(id: string): Claim | undefined {
    const claim = this.#waiting.get(id);
    this.#waiting.delete(id);
    return claim;
  }
}
