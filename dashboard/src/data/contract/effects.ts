// Messages, accounts and money.
import type { Count } from "./common";
import type { ErrorRecord } from "./jobs";

export interface MessageRow {
  id: string;
  tenant: string;
  channel: string;
  idempotencyKey: string;
  orderKey: string | null;
  status: "pending" | "sending" | "sent" | "failed" | "skipped" | "unknown";
  jobId: string | null;
  attempts: number;
  createdAt: string;
  endedAt: string | null;
}
export interface MessageDetail extends Omit<MessageRow, "attempts"> {
  payload: unknown;
  answer: unknown;
  nextAttemptAt: string | null;
  attempts: {
    at: string;
    outcome: "sent" | "refused" | "uncertain" | "resolved" | null;
    worker: string | null;
    error: ErrorRecord | null;
    as: string | null;
    by: string | null;
    reason: string | null;
    dropped: number;
  }[];
}
export interface ChannelRow {
  channel: string;
  open: Count;
  unknown: Count;
  failed: Count;
  oldestOpenAt: string | null;
  lagMs: number | null;
}

export interface AccountRow {
  account: string;
  available: number;
  reserved: number;
  createdAt: string;
}
export interface CreditEntry {
  id: string;
  kind: "grant" | "reservation" | "capture" | "release" | "refund";
  amount: number;
  returned: number /* of a capture: what went back */;
  jobId: string | null;
  reason: string | null;
  createdAt: string;
}
export interface MoneyAnswer {
  items: MoneyRow[];
  creditWorth: number | null /* null: not said, so there is no margin */;
}
export interface MoneyRow {
  key: string;
  captured: number;
  providerCost: number | null;
  currency: string | null;
  margin: number | null;
  jobs: number;
}
