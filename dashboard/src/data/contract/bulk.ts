// Actions on many jobs.
import type { Count, JobState } from "./common";
import type { JobFilter, JobRow } from "./jobs";

export type BulkFilter = Omit<JobFilter, "payload" | "state"> & {
  state?: JobState | JobState[];
  ids?: string[] /* ≤ 10,000 */;
  payload?: object;
};
// cancel: live jobs · retry: dead, cancelled, and scheduled ones now · redrive: dead (default) or cancelled · rerun: a new job like each ended one
export interface BulkPreview {
  count: Count;
  groups: { state: JobState; kind: string; errorCode: string | null; count: number }[];
  samples: JobRow[] /* ≤ 5 */;
}
export interface BulkAction {
  id: string;
  action: string;
  filter: BulkFilter;
  actor: string;
  tenant: string | null;
  reason: string | null;
  state: "running" | "done" | "stopped" | "failed";
  seen: number;
  changed: number;
  skipped: number;
  cursor: string;
  error: string | null;
  upTo: string /* ids up to here: jobs enqueued later are not touched */;
  createdAt: string;
  updatedAt: string;
  endedAt: string | null;
}
