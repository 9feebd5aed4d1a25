// Liveness is progress, not a pid: when each part of the supervisor's worker last succeeded, and which has not for too long although the database
// answers. Such a worker is replaced by a new one; children go on.

export const PARTS = ["claim", "upkeep", "heartbeat"] as const;
export type PartName = (typeof PARTS)[number];

/** What is known when the database has just answered. */
export interface HealthFacts {
  readonly nowMs: number;
  /** When each last succeeded, by the monotonic clock. */
  readonly seenAtMs: Readonly<Record<PartName, number>>;
  /** Whether the worker has capacity left, so that it has a reason to claim. */
  readonly mayClaim: boolean;
  readonly stuckMs: number;
}

/** The part that is stuck, of several the one that has been silent for longest: the others may only be waiting for it. Undefined: none is. */
export function stuckPart({ nowMs, seenAtMs, mayClaim, stuckMs }: HealthFacts): PartName | undefined {
  return PARTS.filter((part) => nowMs - seenAtMs[part] > stuckMs && (part !== "claim" || mayClaim)).sort(
    (a, b) => seenAtMs[a] - seenAtMs[b],
  )[0];
}

/** A beat is due every third of a lease, upkeep every five seconds, a look for work every twelve. */
const STUCK_MS_MIN = 30_000;

/** The longest of what is set, of what the parts need in quiet times, and of three leases. */
export const stuckMsOf = (hangMs: number, leaseMs: number, pollMs: number | undefined): number =>
  Math.max(hangMs, STUCK_MS_MIN, 3 * leaseMs, 3 * (pollMs ?? 0));
