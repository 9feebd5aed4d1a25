// Jobs: filters, rows, attempts, why, steps, logs, enqueues.
import type { JobState } from "./common";

export interface JobFilter {
  state?: JobState;
  queue?: string;
  kind?: string;
  tenant?: string;
  key?: string;
  batch?: string;
  errorCode?: string;
  errorText?: string;
  createdSince?: string;
  createdUntil?: string;
  endedSince?: string;
  endedUntil?: string;
  payload?: string /* JSON text: containment, {"userId":"u1"} */;
  tag?: string;
}
export interface JobRow {
  id: string;
  state: JobState;
  kind: string;
  queue: string;
  tenant: string;
  priority: number;
  key: string | null;
  attempt: number;
  crashes: number;
  maxAttempts: number;
  worker: string | null;
  createdAt: string;
  runAt: string | null;
  expireAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
  cancelRequestedAt: string | null;
  batch: string | null;
  rerunOf: string | null;
  error: { code: string; name: string; message: string } | null;
  tags: string[];
}
export interface JobDetail extends Omit<JobRow, "error"> {
  leaseNo: number;
  payload: unknown;
  progress: unknown;
  result: unknown;
  error: ErrorRecord | null;
  firstStartedAt: string | null /* startedAt is when its last run began */;
  attempts: Attempt[];
  reruns: string[];
  tick: { schedule: string; at: string } | null;
  credits: { account: string; amount: number; state: "reserved" | "captured" | "released" } | null;
  spent: TimeSpent;
  links: { label: string; url: string }[];
  trace: string | null;
  redacted: boolean;
  sealed: boolean /* payload could not be opened here */;
}
export interface ErrorRecord {
  name: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: ErrorRecord;
  [more: string]: unknown;
}
export interface Attempt {
  attempt: number;
  leaseNo: number;
  worker: string;
  startedAt: string;
  endedAt: string | null;
  outcome: string /* "running" for the current one, "done" for the last of a done job */;
  error: ErrorRecord | null;
  dropped: number;
}
export interface TimeSpent {
  delayedMs: number /* as the caller asked */;
  waitedMs: number;
  ranMs: number;
  retriedMs: number /* pauses between attempts */;
  sleptMs: number;
  limitedMs: number | null /* of waitedMs; null: no sample was taken meanwhile */;
  unservedMs: number | null /* of waitedMs: no worker was there for it */;
  totalMs: number;
}
export interface Why {
  id: string;
  state: string;
  reason: string;
  checks: { check: string; passed: boolean; reason: string; detail: Record<string, unknown> | null }[];
} // check: state expired released credits scheduled paused "tenant cap" "queue cap" "kind cap" rate key worker turn dependency members order
export interface Step {
  name: string;
  kind: "run" | "sleep" | "wait";
  position: number | null;
  result: unknown;
  startedAt: string;
  finishedAt: string | null;
  wakeAt: string | null;
  signalledAt: string | null;
  attempt: number;
  leaseNo: number;
}
export interface LogLine {
  id: string;
  at: string;
  level: "trace" | "debug" | "info" | "warn" | "error" | "fatal";
  message: string;
  fields: Record<string, unknown>;
  attempt: number;
}
export interface PublicJob {
  id: string;
  state: JobState;
  progress: unknown;
  result: unknown;
  error: { code: string | null; message: string } | null;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
}
export interface Enqueued {
  id: string;
  created: boolean;
  replaced: boolean;
}
