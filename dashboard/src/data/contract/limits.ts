// Tenants, queues, kinds and their limits.
import type { Count, Rate } from "./common";

export interface Limits {
  maxRunning: number | null;
  rate: Rate | null;
  pausedAt: string | null;
  pausedUntil: string | null;
}
export interface TenantRow extends Limits {
  tenant: string;
  weight: number;
  running: Count;
  ready: Count;
}
export interface QueueRow extends Limits {
  queue: string;
  workers: number;
  running: Count;
  ready: Count;
  scheduled: Count;
  blocked: Count;
}
export interface KindRow extends Limits {
  kind: string;
  workers: number;
  definition: {
    per: "key" | "tenant" | "kind";
    maxRunning: number | null;
    whenFull: "wait" | "refuse";
    rate: Rate | null;
  } | null;
}
export interface LimitGauge extends Limits {
  scope: "tenant" | "queue" | "kind";
  name: string;
  running: number | null /* counted under its cap */;
  spent: number | null /* starts in the window */;
  nextFreeAt: string | null;
}
export interface NamedLimit {
  name: string;
  windows: { unit: string; limit: number; perMs: number }[];
  reportedAt: string;
  waiting: Count;
}
export interface Budget {
  tenant: string;
  per: "day" | "month";
  provider: string | null;
  kind: string | null;
  currency: string;
  timeZone: string;
  soft: number | null;
  hard: number | null;
  spent: number;
  state: "within" | "soft" | "spent";
  periodFrom: string;
  periodUntil: string;
  softAt: string | null;
}
