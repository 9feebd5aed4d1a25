// The statements about figures: record a tick or an interval, and read how workers are.
import type { Database, Statement } from "../db/database.js";
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

/** What the answer to a row says. `ready` is undefined where the queues were not looked at. */
export interface Recorded {
  readonly ready: number | undefined;
  readonly throttled: number;
}

/** Writes the row. `lookEveryMs` 0: the queues are looked at in any case, and the answer says how many jobs are ready. */
export const recordStatement = (worker: string, facts: Facts & Interval, lookEveryMs: number): Statement => [
  "select ready, throttled from fairmill.record_tick_v1($1, $2, $3 * interval '1 millisecond')",
  [worker, JSON.stringify({ ...facts, looked_at: lookedAt(facts.looked_at) }), lookEveryMs],
];

export function recordedOf([row]: readonly unknown[]): Recorded {
  const { ready, throttled } = row as { ready: number | null; throttled: number };
  return { ready: ready ?? undefined, throttled };
}

export async function recordTick(
  db: Database,
  worker: string,
  facts: Facts & Interval,
  lookEveryMs: number,
): Promise<Recorded> {
  const [text, values] = recordStatement(worker, facts, lookEveryMs);
  return recordedOf(await db.query(text, values));
}

/** Of a worker's queues, those that are looked at. */
export const lookedAt = (queues: readonly string[]): readonly string[] => queues.slice(0, QUEUES_MAX);
