// Figures over time.

export interface TimeWindow {
  since: string;
  until: string;
  stepMs: number;
  times: number[];
}
export interface Series extends TimeWindow {
  name: SeriesName;
  unit: "count" | "perSecond" | "ms" | "ratio" | "bytes" | "credits";
  lines: { key: string; values: (number | null)[] }[];
}
export type SeriesName =
  | "jobs.in"
  | "jobs.out"
  | "jobs.failed"
  | "jobs.dead"
  | "ready"
  | "running"
  | "capacity"
  | "wait.p50"
  | "wait.p95"
  | "run.p50"
  | "run.p95"
  | "error.rate"
  | "rate.limited"
  | "leases.lost"
  | "workers"
  | "cpu"
  | "memory"
  | "outbox.lag"
  | "provider.latency"
  | "provider.cost"
  | "credits.captured";
export interface Mark {
  at: number;
  kind: "deploy" | "scaling" | "alert" | "setting";
  label: string;
  detail: Record<string, unknown>;
}
export type BacklogReason =
  | "runnable"
  | "scheduled"
  | "retrying"
  | "tenant cap"
  | "queue cap"
  | "kind cap"
  | "key"
  | "rate"
  | "provider closed"
  | "budget spent"
  | "paused"
  | "no handler"
  | "no worker"
  | "waiting for a signal"
  | "sleeping";
export interface Backlog extends TimeWindow {
  reasons: { reason: BacklogReason; values: (number | null)[] }[];
  atLeast: boolean[];
  marks: Mark[];
}
export interface Fairness extends TimeWindow {
  jain: (number | null)[];
  jainNow: number | null;
  lanes: {
    tenant: string;
    weight: number;
    served: (number | null)[];
    demand: (number | null)[] /* unmet */;
    fair: (number | null)[];
    shareGiven: number;
    shareEntitled: number;
    waitP95Ms: number | null;
    limitedRatio: number | null;
  }[];
}
export interface TimeRow {
  key: string;
  jobs: number;
  waitedTurnMs: number;
  waitedLimitsMs: number;
  waitedWorkerMs: number;
  ranMs: number;
  sleptMs: number;
  retriedMs: number;
}
export interface ProviderRow {
  provider: string;
  breaker: "closed" | "half" | "open";
  since: string | null;
  nextTryAt: string | null;
  latencyP50Ms: number | null;
  latencyP95Ms: number | null;
  errorRate: number | null;
  limitedUntil: string | null;
  costToday: number | null;
  currency: string | null;
  strip: { from: number; to: number; state: "closed" | "half" | "open" }[];
}
export interface TrialFigures {
  starts: number;
  delayed: number;
  notStarted: number /* within the hour */;
  delayMeanMs: number;
  delayMaxMs: number;
  mostAtOnce: number;
  shareEntitled: number | null /* only where a weight is tried */;
}
export interface Trial {
  before: TrialFigures;
  after: TrialFigures;
  heldByLimits: number | null /* part of what waited */;
  message: string;
  basis: { runs: number; since: string; until: string; isPart: boolean; note: string };
}
