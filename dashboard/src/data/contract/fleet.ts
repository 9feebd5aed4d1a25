// Workers, pools and their decisions.
import type { ChildState } from "../child-states";
import type { BacklogReason } from "./series";

export interface WorkerRow {
  id: string;
  state: "alive" | "lost" | "stopped";
  host: string | null;
  pid: number | null;
  version: string | null;
  queues: string[];
  kinds: string[] | null;
  concurrency: number;
  running: number;
  listening: boolean;
  startedAt: string;
  beatAt: string;
  beatAgeMs: number;
  leaseUntil: string;
  endedAt: string | null;
  stats: Record<string, unknown> /* whatever the worker said at its last beat: cpu, memory… */;
  pool: string | null;
}
export interface ScalingDecision {
  id: string;
  at: string;
  pool: string;
  actual: number;
  wanted: number;
  done: number /* what was carried out */;
  reason: string;
  cappedBy: string | null;
  suppressed: boolean;
  inputs: Record<string, number | string | null>;
  leftOut: { reason: BacklogReason; count: number }[];
}
export interface PoolRow {
  pool: string;
  policy: string;
  min: number;
  max: number;
  wanted: number;
  actual: number;
  ready: number;
  supervisor: string;
  host: string | null;
  heldBy: string | null;
  children: {
    worker: string | null;
    pid: number;
    state: ChildState;
    draining: boolean;
    since: string;
    exit: string | null;
    restarts: number;
    rssBytes: number | null;
    cpu: number | null;
  }[];
}
