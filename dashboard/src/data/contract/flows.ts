// Batches and flows.
import type { Count } from "./common";

export type BatchState = "waiting" | "open" | "running" | "succeeded" | "failed" | "cancelled" | "skipped" | string;
export interface BatchRow {
  id: string;
  role: "batch" | "flow" | "node";
  name: string | null;
  tenant: string;
  state: BatchState;
  parent: string | null;
  done: number;
  dead: number;
  cancelled: number;
  live: Count;
  registered: number;
  lastRegisteredAt: string | null;
  failed: number;
  lost: number;
  callbacks: { success: string | null; complete: string | null; death: string | null };
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  cancelRequestedAt: string | null;
}
export interface FlowNode extends BatchRow {
  when: "succeeded" | "settled" | "failed";
  onFailure: "fail" | "skip" | "continue";
  after: string[] /* node ids */;
  job: string | null;
  onCriticalPath: boolean;
}
export interface FlowDetail extends BatchRow {
  nodes: FlowNode[];
}
