// The value that a claim hands to the runner: a job with the fence under which it may be settled.

export interface Claim {
  readonly id: string;
  /** With `worker`, the fence: every write about this run names both. */
  readonly leaseNo: number;
  readonly worker: string;
  readonly queue: string;
  readonly priority: number;
  readonly tenant: string;
  readonly kind: string;
  readonly key: string | null;
  readonly attempt: number;
  readonly crashes: number;
  readonly maxAttempts: number;
  readonly payload: unknown;
  /** The batch of which it is a member. */
  readonly batch: string | null;
  /** The time limit of its runs; 0: none; null: as its definition says. */
  readonly timeoutMs: number | null;
  /** The traceparent of the span that enqueued it. */
  readonly trace: string | null;
  /** The number of the worker's list in which it is noted. */
  readonly hand: number;
}
