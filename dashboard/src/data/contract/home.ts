// Who asks, and the first page.
import type { Count, Role } from "./common";

export interface Me {
  actor: string;
  role: Role;
  tenant: string | null /* narrowed to */;
  via: "none" | "cookie" | "bearer" | "basic";
  version: string;
  schema: string;
  features: Features;
  now: string;
}
export interface Features {
  metrics: boolean;
  alerts: boolean;
  logs: boolean;
  scaling: boolean;
  providers: boolean;
} // false: hide the view or say "not recorded"

export interface Now {
  at: string;
  ready: Count;
  running: Count;
  scheduled: Count | null;
  blocked: Count | null; // null: not known for a narrowed credential
  capacity: number | null;
  workers: number | null; // of living workers
  oldestWaitMs: number | null;
  oldestWaitJob: string | null; // the oldest ready job among the 10,000 oldest
  inPerSecond: number | null;
  outPerSecond: number | null; // null without metrics
  dead24h: Count;
  needsYou: Need[]; // most urgent first, ≤ 50
}
export interface Need {
  code:
    | "queue_without_workers"
    | "kind_without_workers"
    | "paused_with_backlog"
    | "tenant_starved"
    | "breaker_open"
    | "outbox_unknown"
    | "outbox_stuck"
    | "schedule_failing"
    | "schedule_overdue"
    | "worker_lost"
    | "alert_firing"
    | "jobs_died";
  severity: "info" | "warning" | "critical";
  subject: {
    type: "queue" | "kind" | "tenant" | "channel" | "schedule" | "worker" | "alert" | "provider" | "jobs";
    name: string;
  };
  message: string;
  since: string | null;
  count: number | null;
}
