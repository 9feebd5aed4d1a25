// What a tick answers: what it did, and when there is more to do.

/** What a tick did. */
export interface TickReport {
  /** The name under which it worked, as in `worker_tick_metrics`. */
  readonly worker: string;
  readonly claimed: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Jobs that limits kept waiting. */
  readonly throttled: number;
  /** Jobs that are ready in its queues now, counted up to 10,000. */
  readonly remaining: number;
  /** When the next tick finds something to do, as an ISO time: now, if something remains. Null: never, as things are. */
  readonly nextAt: string | null;
}

/** Of a time from now; in the past it is now. Null: never. */
export const isoOf = (nowMs: number, inMs: number | undefined): string | null =>
  inMs === undefined ? null : new Date(nowMs + Math.max(0, inMs)).toISOString();
