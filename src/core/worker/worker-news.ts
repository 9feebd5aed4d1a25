// What the services of a worker tell one another, by topic. Metrics listen here, too; what users listen to are `worker.events`.
import type { Throttled } from "../claim/closed-limit.js";
import type { Claim } from "../job/claim.js";
import type { Returned } from "../settle/returned.js";
import type { Rested, UpkeepReport } from "../upkeep/upkeep-statements.js";

/** A lane of a queue. */
export interface QueueLane {
  readonly queue: string;
  readonly priority: number;
  readonly tenant: string;
}

export interface WorkerNews {
  /** Work may have arrived in this queue; undefined: in any. */
  wake: string | undefined;
  /** Work has arrived in this lane; undefined: it is not known in which. */
  wakeLane: QueueLane | undefined;
  /** Something falls due in this many milliseconds: upkeep looks then. */
  due: number;
  /** The worker sleeps, and is listed as one to notify; false: not any more. */
  quiet: boolean;
  /** These jobs have ended here, says the database: what limits counted for them is free. */
  freed: readonly Claim[];
  /** These became ready because jobs of this worker ended: no other worker is told where to look. */
  returned: readonly Returned[];
  /** Limits kept a claim of this worker from taking more. */
  throttled: { readonly worker: string } & Throttled;
  /** A notification says that a job of this worker shall be cancelled; the database says which. */
  cancelRequested: string;
  /** These jobs of this worker shall be cancelled. */
  cancel: { readonly worker: string; readonly ids: readonly string[] };
  /** The lease is over, or the database declared this incarnation dead: its jobs may be another worker's by now. */
  lost: { readonly worker: string };
  /** Notifications arrive (true), or only polling finds work (false). */
  listening: boolean;
  /** The shared state of a provider has changed: it was opened or closed, permits are wanted, or free for this worker alone. */
  provider: { readonly name: string; readonly worker?: string };
  /** A worker that sleeps, this one or another, has done a round of upkeep for all. */
  rested: Rested;
  /** A round of upkeep was left to another worker, which did it; for so many milliseconds nothing need be done. */
  covered: number;
  /** This worker, or another, evaluates the alerts of the fleet now. */
  alertsEvaluated: { readonly worker: string };
  /** What a round of upkeep did. */
  upkeep: UpkeepReport;
}
