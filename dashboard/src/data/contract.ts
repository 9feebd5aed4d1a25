// What the JSON API answers, as the server documents it (docs/reference/http.md). Everything that a user wrote is text and is shown as text.

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
export type JobState = "scheduled" | "ready" | "blocked" | "running" | "done" | "dead" | "cancelled";
export interface Rate {
  limit: number;
  perMs: number;
  how: "window" | "uniform";
  at: "start" | "enqueue";
}

export interface Me {
  actor: string;
  role: Role;
  tenant: string | null /* narrowed to */;
  via: "none" | "cookie" | "bearer" | "basic";
  version: string;
  schema: string;
  features: Features;
  now: string;
}
export interface Features {
  metrics: boolean;
  alerts: boolean;
  logs: boolean;
  scaling: boolean;
  providers: boolean;
} // false: hide the view or say "not recorded"

export interface Now {
  at: string;
  ready: Count;
  running: Count;
  scheduled: Count | null;
  blocked: Count | null; // null: not known for a narrowed credential
  capacity: number | null;
  workers: number | null; // of living workers
  oldestWaitMs: number | null;
  oldestWaitJob: string | null; // the oldest ready job among the 10,000 oldest
  inPerSecond: number | null;
  outPerSecond: number | null; // null without metrics
  dead24h: Count;
  needsYou: Need[]; // most urgent first, ≤ 50
}
export interface Need {
  code:
    | "queue_without_workers"
    | "kind_without_workers"
    | "paused_with_backlog"
    | "tenant_starved"
    | "breaker_open"
    | "outbox_unknown"
    | "outbox_stuck"
    | "schedule_failing"
    | "schedule_overdue"
    | "worker_lost"
    | "alert_firing"
    | "jobs_died";
  severity: "info" | "warning" | "critical";
  subject: {
    type: "queue" | "kind" | "tenant" | "channel" | "schedule" | "worker" | "alert" | "provider" | "jobs";
    name: string;
  };
  message: string;
  since: string | null;
  count: number | null;
}

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
  tag?: string /* refused with 400 until tags exist */;
}
export type JobQuery = JobFilter & { cursor?: string; limit?: number }; // repeat of state allowed: state=dead&state=cancelled
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
  attempts: Attempt[];
  reruns: string[];
  tick: { schedule: string; at: string } | null;
  credits: { account: string; amount: number; state: "held" | "captured" | "released" } | null;
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
  gates: { gate: string; passed: boolean; reason: string; detail: Record<string, unknown> | null }[];
} // gate: state expired released credits scheduled paused "tenant cap" "queue cap" "kind cap" rate key worker turn dependency members order
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
export interface EnqueueItem {
  input?: unknown;
  tenant?: string;
  priority?: number;
  runAt?: string;
  delay?: string | number;
  idempotencyKey?: string;
  key?: string;
}
export interface EnqueueBody extends EnqueueItem {
  kind: string;
  queue?: string;
}
export interface Enqueued {
  id: string;
  created: boolean;
  replaced: boolean;
}

export interface BulkSpec {
  action: "cancel" | "retry" | "redrive" | "rerun";
  filter: BulkFilter;
  reason?: string;
  note?: never;
}
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

export interface Limits {
  maxRunning: number | null;
  rate: Rate | null;
  pausedAt: string | null;
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
    state: "starting" | "ready" | "draining" | "gone";
    since: string;
    exit: string | null;
    restarts: number;
    rssBytes: number | null;
    cpu: number | null;
  }[];
}

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
    outcome: "sent" | "refused" | "doubt" | "resolved" | null;
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
  held: number;
  createdAt: string;
}
export interface CreditEntry {
  id: string;
  kind: "grant" | "hold" | "capture" | "release";
  amount: number;
  jobId: string | null;
  reason: string | null;
  createdAt: string;
}
export interface MoneyRow {
  key: string;
  captured: number;
  providerCost: number | null;
  currency: string | null;
  margin: number | null;
  jobs: number;
}

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
export interface ScheduleRow {
  name: string;
  cron: string;
  timezone: string;
  missed: "skip" | "once" | number;
  jitterMs: number;
  kind: string;
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
  overdueMs: number;
}

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
