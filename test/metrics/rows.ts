// Interval records as workers write them, for tests that read figures.
import type { TestDatabase } from "../support/database.js";

export interface Row {
  readonly worker?: string;
  readonly mode?: "tick" | "interval";
  /** How long ago it began; default five seconds. */
  readonly agoMs?: number;
  readonly at?: Date;
  readonly [column: string]: unknown;
}

const COLUMNS = {
  claimed: "jobs_claimed",
  processed: "jobs_processed",
  succeeded: "jobs_succeeded",
  failed: "jobs_failed",
  dead: "jobs_dead",
  throttled: "jobs_throttled",
  recovered: "jobs_recovered",
  lost: "leases_lost",
  contention: "lock_contention_count",
  running: "running",
  depth: "queue_depth_at_start",
  durationMs: "tick_duration_ms",
  kinds: "kinds",
  tenants: "tenants",
  queues: "queues",
  tenant_jobs: "tenant_jobs",
} as const;

export async function record(db: TestDatabase, row: Row): Promise<void> {
  const named = Object.entries(COLUMNS).filter(([name]) => row[name] !== undefined && name !== "durationMs");
  const values = named.map(([name]) => (typeof row[name] === "object" ? JSON.stringify(row[name]) : row[name]));
  await db.query(
    `insert into fairmill.worker_tick_metrics (worker_id, mode, tick_started_at, interval_ms, tick_duration_ms${named.map(([, column]) => `, ${column}`).join("")})
     values ($1, $2, coalesce($3, clock_timestamp() - $4 * interval '1 millisecond'), 10000, $5${named.map((_, n) => `, $${n + 6}`).join("")})`,
    [
      row.worker ?? "w1",
      row.mode ?? "interval",
      row.at ?? null,
      row.agoMs ?? 5_000,
      row["durationMs"] ?? 100,
      ...values,
    ],
  );
}
