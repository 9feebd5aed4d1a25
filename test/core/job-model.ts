// A small model of the life of jobs: what must be true of them, in memory.
import { type JobState, mayBecome } from "../../src/core/job/states.js";

export const CRASHES_MAX = 3;
export type Verdict = "done" | "dead" | "cancelled" | "retry" | "snooze" | "release";
export const WAITING: readonly Verdict[] = ["retry", "snooze", "release"];

export interface ModelJob {
  readonly id: number;
  readonly tenant: string;
  state: JobState;
  /** Its place in its lane: by the time it became due. */
  turn: number;
  attempt: number;
  crashes: number;
  leaseNo: number;
  worker: string | null;
  isCancelAsked: boolean;
  isOverdue: boolean;
  failures: { leaseNo: number; worker: string; isCrash: boolean }[];
}

/** A right that was given out, whether or not it still holds. */
export interface Lease {
  readonly job: ModelJob;
  readonly leaseNo: number;
  readonly worker: string;
}

export class Model {
  readonly jobs: ModelJob[] = [];
  readonly leases: Lease[] = [];
  /** The incarnation of each of the three workers. */
  readonly workers = [0, 0, 0];
  #turns = 0;

  nameOf(worker: number): string {
    return `w${worker}.${this.workers[worker]}`;
  }

  nextTurn(): number {
    return ++this.#turns;
  }

  become(job: ModelJob, state: JobState): void {
    if (job.state !== state && !mayBecome(job.state, state)) throw new Error(`${job.state} may not become ${state}`);
    // Released and recovered ones go back to their old place.
    if (state === "ready" && job.state !== "running") job.turn = this.nextTurn();
    job.state = state;
    if (state === "ready" || state === "scheduled" || state === "blocked") job.worker = null;
  }

  isHeld({ job, leaseNo, worker }: Lease): boolean {
    return job.state === "running" && job.leaseNo === leaseNo && job.worker === worker;
  }

  settle(lease: Lease, verdict: Verdict): void {
    const { job, leaseNo, worker } = lease;
    const heeded = job.isCancelAsked && WAITING.includes(verdict) ? "cancelled" : verdict;
    if (verdict === "retry" || verdict === "dead") job.failures.push({ leaseNo, worker, isCrash: false });
    if (heeded === "snooze" || heeded === "release") job.attempt--;
    this.become(job, heeded === "release" ? "ready" : heeded === "retry" || heeded === "snooze" ? "scheduled" : heeded);
  }

  /** Whether a settle that finds its lease gone is a repetition of one that was heard. */
  wasSettled({ job, leaseNo, worker }: Lease, verdict: Verdict): boolean {
    if (job.leaseNo !== leaseNo) return false;
    const last = job.failures.at(-1);
    if (last?.isCrash && last.leaseNo === leaseNo) return false;
    if (job.state === "done" || job.state === "dead" || job.state === "cancelled")
      return job.worker === worker && job.state === (WAITING.includes(verdict) ? "cancelled" : verdict);
    if (job.state === "running" || !WAITING.includes(verdict)) return false;
    return verdict !== "retry" || (last?.leaseNo === leaseNo && last.worker === worker);
  }

  crash(worker: string): void {
    for (const job of this.jobs) {
      if (job.state !== "running" || job.worker !== worker) continue;
      job.crashes++;
      job.failures.push({ leaseNo: job.leaseNo, worker, isCrash: true });
      this.become(job, job.isCancelAsked ? "cancelled" : job.crashes >= CRASHES_MAX ? "dead" : "ready");
    }
  }
}
