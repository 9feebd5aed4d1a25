// The statements about figures: record a tick or an interval, and read how workers are.
import type { Database } from "../db/database.js";
import type { Facts } from "./figures.js";

/** Besides what was counted. */
export interface Interval {
  readonly mode: "tick" | "interval";
  readonly interval_ms: number;
  readonly tick_duration_ms: number;
  readonly budget_ms?: number;
  readonly queue_depth_at_start?: number;
  readonly running: number;
  /** The worker's queues. */
  readonly looked_at: readonly string[];
}

/** Queues are looked at in one statement: of a worker with more of them, these. */
const QUEUES_MAX = 50;

/** Writes the row. `lookEveryMs` 0: the queues are looked at in any case, and the answer says how many jobs are ready. */
export async function recordTick(
  db: Database,
  worker: string,
  facts: Facts & Interval,
  lookEveryMs: number,
): Promise<{ ready: number | undefined; throttled: number }> {
  const [row] = await db.query<{ ready: number | null; throttled: number }>(
    "select ready, throttled from fairmill.record_tick_v1($1, $2, $3 * interval '1 millisecond')",
    [worker, JSON.stringify({ ...facts, looked_at: facts.looked_at.slice(0, QUEUES_MAX) }), lookEveryMs],
  );
  return { ready: row!.ready ?? undefined, throttled: row!.throttled };
}

/** How many jobs are ready in these queues together, counted up to a bound. */
export async function countReady(db: Database, queues: readonly string[]): Promise<number> {
  const [row] = await db.query<{ ready: number }>(
    "select coalesce(sum(ready), 0)::integer as ready from fairmill.queue_depths_v1($1)",
    [queues.slice(0, QUEUES_MAX)],
  );
  return row!.ready;
}
