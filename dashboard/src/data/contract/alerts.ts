// Alerts, the audit and what changes.
import type { Role } from "./common";

export interface Alert {
  id: string;
  rule: string;
  severity: "info" | "warning" | "critical";
  state: "pending" | "firing" | "resolved";
  subject: string;
  message: string;
  value: number;
  threshold: number;
  unit: string;
  since: string;
  firedAt: string | null;
  resolvedAt: string | null;
  silencedUntil: string | null;
  silencedBy: string | null;
}
export interface AlertRule {
  rule: string;
  description: string;
  threshold: number;
  unit: string;
  forMs: number;
  severity: string;
  enabled: boolean;
}

export interface AuditEvent {
  id: string;
  at: string;
  actor: string;
  role: Role | null;
  via: "http" | "cli" | "library";
  action: string /* "job.cancel", "tenant.set", "bulk.start", "session.start"… */;
  subject: string /* "job 17", "tenant acme" */;
  tenant: string | null;
  detail: Record<string, unknown>;
  outcome: "done" | "refused" | "failed" | null /* null: not known, the process ended in between */;
  error: string | null;
}

export interface Change {
  at: string;
  topics: (
    | "jobs"
    | "workers"
    | "limits"
    | "batches"
    | "outbox"
    | "schedules"
    | "credits"
    | "bulk"
    | "audit"
    | "alerts"
    | "series"
  )[];
  jobs: { newest: string; entered: number; ended: number } | null;
} // ids given out and jobs ended since the last notice, near enough
