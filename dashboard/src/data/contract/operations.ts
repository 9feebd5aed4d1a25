// Errors, approvals and schedules.
import type { JobFilter } from "./jobs";

export interface ErrorGroup {
  fingerprint: string;
  kind: string;
  code: string | null;
  name: string | null;
  message: string /* of the newest */;
  pattern: string /* numbers and ids as … */;
  count: number;
  firstSeenAt: string;
  lastSeenAt: string;
  tenants: number;
  topTenants: { tenant: string; count: number }[] /* ≤ 5 */;
  versions: { version: string | null; count: number }[];
  firstVersion: string | null;
  spark: number[] /* 24 equal parts of since…now */;
  sample: string /* job id */;
  filter: JobFilter /* for "retry all of these": kind + errorCode or errorText */;
}
export interface Approval {
  jobId: string;
  name: string;
  kind: string;
  queue: string;
  tenant: string;
  question: unknown /* job.progress */;
  since: string;
  deadline: string | null;
  ageMs: number;
}
/** As the holder of a link sees it. */
export interface Question {
  state: "open" | "answered" | "over";
  jobId: string;
  name: string;
  expiresAt: string;
  kind: string | null;
  tenant: string | null;
  question: unknown;
  since: string | null;
  deadline: string | null;
}
export interface ScheduleRow {
  name: string;
  cron: string;
  timezone: string;
  missed: "skip" | "once" | { all: number };
  jitterMs: number;
  kind: string;
  startsFlows: boolean;
  queue: string;
  tenant: string;
  nextRun: string | null;
  nextRuns: string[] /* 5; [] while paused */;
  lastTick: string | null;
  lastJobId: string | null;
  lastError: { code: string; message: string } | null;
  pausedAt: string | null;
  createdAt: string;
  updatedAt: string;
  editedAt: string | null;
  overdueMs: number;
}

/** What its jobs are made of; null where ticks start flows. */
export interface ScheduleInput {
  input: unknown;
  redacted: boolean;
  sealed: boolean;
  editable: boolean;
}

export interface NextRuns {
  timezone: string;
  runs: string[];
}
