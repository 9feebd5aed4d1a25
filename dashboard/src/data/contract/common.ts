// What every answer may have.

export interface Page<T> {
  items: T[];
  next: string | null;
  notice: Notice | null;
}
export interface Notice {
  code: "STATEMENT_LIMIT" | "LOOKED_AT_PART";
  message: string;
}
export interface Count {
  count: number;
  more: boolean;
} // more: "at least"
export interface Problem {
  type: string;
  title: string;
  status: number;
  code: string;
  detail: string;
  issues?: { path: string; message: string }[];
  retryAfterMs?: number;
}
export type Role = "enqueue" | "viewer" | "operator" | "admin"; // viewer < operator < admin; enqueue stands beside them
export type { JobState } from "../job-states";
export interface Rate {
  limit: number;
  perMs: number;
  how: "window" | "uniform";
  at: "start" | "enqueue";
}
