// The shapes of this API's answers, as the OpenAPI document and the tests know them.
import {
  anyJson,
  boolean,
  id,
  list,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  type Schema,
  text,
  time,
} from "./schema.js";

const maybe = nullable;
export const textShape = text;
export const count = named("Count", object({ count: number, more: boolean }));
export const notice = named("Notice", object({ code: oneOf("STATEMENT_LIMIT", "LOOKED_AT_PART"), message: text }));
export const pageOf = <T>(item: Schema<T>) => object({ items: list(item), next: maybe(text), notice: maybe(notice) });
export const itemsOf = <T>(item: Schema<T>) => object({ items: list(item) });
export const jobState = oneOf("scheduled", "ready", "blocked", "running", "done", "dead", "cancelled");
export const role = oneOf("enqueue", "viewer", "operator", "admin", "job");

export const me = named(
  "Me",
  object({
    actor: text,
    role,
    tenant: maybe(text),
    via: oneOf("none", "cookie", "bearer", "basic", "token"),
    version: text,
    schema: text,
    features: object({ metrics: boolean, alerts: boolean, logs: boolean, scaling: boolean, providers: boolean }),
    now: time,
  }),
);

export const need = named(
  "Need",
  object({
    code: text,
    severity: oneOf("info", "warning", "critical"),
    subject: object({ type: text, name: text }),
    message: text,
    since: maybe(time),
    count: maybe(number),
  }),
);
export const now = named(
  "Now",
  object({
    at: time,
    ready: count,
    running: count,
    scheduled: maybe(count),
    blocked: maybe(count),
    capacity: maybe(number),
    workers: maybe(number),
    oldestWaitMs: maybe(number),
    oldestWaitJob: maybe(id),
    inPerSecond: maybe(number),
    outPerSecond: maybe(number),
    dead24h: count,
    needsYou: list(need),
  }),
);

export const errorRecord = named("ErrorRecord", record);
const rowMembers = {
  id,
  state: jobState,
  kind: text,
  queue: text,
  tenant: text,
  priority: number,
  key: maybe(text),
  attempt: number,
  crashes: number,
  maxAttempts: number,
  worker: maybe(text),
  createdAt: time,
  runAt: maybe(time),
  expireAt: maybe(time),
  startedAt: maybe(time),
  endedAt: maybe(time),
  cancelRequestedAt: maybe(time),
  batch: maybe(id),
  rerunOf: maybe(id),
  tags: list(text),
};
export const jobRow = named(
  "JobRow",
  object({ ...rowMembers, error: maybe(object({ code: maybe(text), name: maybe(text), message: maybe(text) })) }),
);
export const jobDetail = named(
  "JobDetail",
  object({
    ...rowMembers,
    leaseNo: number,
    payload: anyJson,
    progress: anyJson,
    result: anyJson,
    error: maybe(errorRecord),
    attempts: list(
      object({
        attempt: number,
        leaseNo: number,
        worker: maybe(text),
        startedAt: time,
        endedAt: maybe(time),
        outcome: text,
        error: maybe(errorRecord),
        dropped: number,
      }),
    ),
    reruns: list(id),
    tick: maybe(object({ schedule: text, at: time })),
    credits: maybe(object({ account: text, amount: number, state: oneOf("held", "captured", "released") })),
    spent: object({
      delayedMs: number,
      waitedMs: number,
      ranMs: number,
      retriedMs: number,
      sleptMs: number,
      limitedMs: maybe(number),
      unservedMs: maybe(number),
      totalMs: number,
    }),
    links: list(object({ label: text, url: text })),
    trace: maybe(text),
    redacted: boolean,
    sealed: boolean,
  }),
);
export const why = named(
  "Why",
  object({
    id: text,
    state: text,
    reason: text,
    gates: list(object({ gate: text, passed: boolean, reason: text, detail: maybe(record) })),
  }),
);
export const step = named(
  "Step",
  object({
    name: text,
    kind: oneOf("run", "sleep", "wait"),
    position: maybe(number),
    result: anyJson,
    startedAt: time,
    finishedAt: maybe(time),
    wakeAt: maybe(time),
    signalledAt: maybe(time),
    attempt: number,
    leaseNo: number,
  }),
);
export const publicJob = named(
  "PublicJob",
  object({
    id,
    state: jobState,
    progress: anyJson,
    result: anyJson,
    error: maybe(object({ code: maybe(text), message: text })),
    createdAt: time,
    startedAt: maybe(time),
    endedAt: maybe(time),
  }),
);
export const enqueued = named("Enqueued", object({ id, created: boolean, replaced: boolean }));
export const answer = (...known: string[]) => object({ answer: oneOf(...known) });

export const bulkAction = named(
  "BulkAction",
  object({
    id,
    action: oneOf("cancel", "retry", "redrive", "rerun"),
    filter: record,
    actor: text,
    tenant: maybe(text),
    reason: maybe(text),
    state: oneOf("running", "done", "stopped", "failed"),
    seen: number,
    changed: number,
    skipped: number,
    cursor: id,
    upTo: id,
    error: maybe(text),
    createdAt: time,
    updatedAt: time,
    endedAt: maybe(time),
  }),
);
export const bulkPreview = named(
  "BulkPreview",
  object({
    count,
    groups: list(object({ state: jobState, kind: text, errorCode: maybe(text), count: number })),
    samples: list(jobRow),
  }),
);

export const rate = named(
  "Rate",
  object({ limit: number, perMs: number, how: oneOf("window", "uniform"), at: oneOf("start", "enqueue") }),
);
const limits = { maxRunning: maybe(number), rate: maybe(rate), pausedAt: maybe(time) };
export const tenantRow = named(
  "TenantRow",
  object({ tenant: text, weight: number, ...limits, running: count, ready: count }),
);
export const queueRow = named(
  "QueueRow",
  object({ queue: text, ...limits, workers: number, running: count, ready: count, scheduled: count, blocked: count }),
);
export const kindRow = named(
  "KindRow",
  object({
    kind: text,
    ...limits,
    workers: number,
    definition: maybe(
      object({
        per: oneOf("key", "tenant", "kind"),
        maxRunning: maybe(number),
        whenFull: oneOf("wait", "refuse"),
        rate: maybe(rate),
      }),
    ),
  }),
);
export const limitGauge = named(
  "LimitGauge",
  object({
    scope: oneOf("tenant", "queue", "kind"),
    name: text,
    ...limits,
    running: maybe(number),
    spent: maybe(number),
    nextFreeAt: maybe(time),
  }),
);
export const facets = object({ queues: list(text), kinds: list(text), tenants: list(text), channels: list(text) });

const workerMembers = {
  id: text,
  state: oneOf("alive", "lost", "stopped"),
  host: maybe(text),
  pid: maybe(number),
  version: maybe(text),
  queues: list(text),
  kinds: maybe(list(text)),
  concurrency: number,
  running: number,
  listening: boolean,
  startedAt: time,
  beatAt: time,
  beatAgeMs: number,
  leaseUntil: time,
  endedAt: maybe(time),
  stats: record,
  pool: maybe(text),
};
export const workerRow = named("WorkerRow", object(workerMembers));
export const workerDetail = named("WorkerDetail", object({ ...workerMembers, jobs: list(jobRow) }));

const batchMembers = {
  id,
  role: oneOf("batch", "flow", "node"),
  name: maybe(text),
  tenant: text,
  state: text,
  parent: maybe(id),
  done: number,
  dead: number,
  cancelled: number,
  live: count,
  registered: number,
  lastRegisteredAt: maybe(time),
  failed: number,
  lost: number,
  callbacks: object({ success: maybe(id), complete: maybe(id), death: maybe(id) }),
  createdAt: time,
  startedAt: maybe(time),
  endedAt: maybe(time),
  cancelRequestedAt: maybe(time),
};
export const batchRow = named("BatchRow", object(batchMembers));
export const flowNode = named(
  "FlowNode",
  object({ ...batchMembers, when: text, onFailure: text, after: list(id), job: maybe(id), onCriticalPath: boolean }),
);
export const flowDetail = named("FlowDetail", object({ ...batchMembers, nodes: list(flowNode) }));

const messageMembers = {
  id,
  tenant: text,
  channel: text,
  idempotencyKey: text,
  orderKey: maybe(text),
  status: oneOf("pending", "sending", "sent", "failed", "skipped", "unknown"),
  jobId: maybe(id),
  createdAt: time,
  endedAt: maybe(time),
};
export const messageRow = named("MessageRow", object({ ...messageMembers, attempts: number }));
export const messageDetail = named(
  "MessageDetail",
  object({
    ...messageMembers,
    payload: anyJson,
    answer: anyJson,
    nextAttemptAt: maybe(time),
    attempts: list(
      object({
        at: text,
        outcome: maybe(text),
        worker: maybe(text),
        error: maybe(errorRecord),
        as: maybe(text),
        by: maybe(text),
        reason: maybe(text),
        dropped: number,
      }),
    ),
  }),
);
export const channelRow = named(
  "ChannelRow",
  object({
    channel: text,
    open: count,
    unknown: count,
    failed: count,
    oldestOpenAt: maybe(time),
    lagMs: maybe(number),
  }),
);

const accountMembers = { account: text, available: number, held: number, createdAt: time };
export const accountRow = named("AccountRow", object(accountMembers));
export const accountDetail = named(
  "AccountDetail",
  object({ ...accountMembers, burnPerDay: maybe(number), daysLeft: maybe(number) }),
);
export const creditEntry = named(
  "CreditEntry",
  object({
    id,
    kind: oneOf("grant", "hold", "capture", "release"),
    amount: number,
    jobId: maybe(id),
    reason: maybe(text),
    createdAt: time,
  }),
);

export const errorGroup = named(
  "ErrorGroup",
  object({
    fingerprint: text,
    kind: text,
    code: maybe(text),
    name: maybe(text),
    message: text,
    pattern: text,
    count: number,
    firstSeenAt: time,
    lastSeenAt: time,
    tenants: number,
    topTenants: list(object({ tenant: text, count: number })),
    versions: list(object({ version: maybe(text), count: number })),
    firstVersion: maybe(text),
    spark: list(number),
    sample: id,
    filter: record,
  }),
);
export const approval = named(
  "Approval",
  object({
    jobId: id,
    name: text,
    kind: text,
    queue: text,
    tenant: text,
    question: anyJson,
    since: time,
    deadline: maybe(time),
    ageMs: number,
  }),
);
export const scheduleRow = named(
  "ScheduleRow",
  object({
    name: text,
    cron: text,
    timezone: text,
    missed: anyJson,
    jitterMs: number,
    kind: text,
    queue: text,
    tenant: text,
    nextRun: maybe(time),
    nextRuns: list(time),
    lastTick: maybe(time),
    lastJobId: maybe(id),
    lastError: maybe(object({ code: text, message: text })),
    pausedAt: maybe(time),
    createdAt: time,
    updatedAt: time,
    overdueMs: number,
  }),
);
export const auditEvent = named(
  "AuditEvent",
  object({
    id,
    at: time,
    actor: text,
    role: maybe(text),
    via: oneOf("http", "cli", "library"),
    action: text,
    subject: text,
    tenant: maybe(text),
    detail: record,
    outcome: maybe(oneOf("done", "refused", "failed")),
    error: maybe(text),
  }),
);
const trialFigures = object({
  starts: number,
  delayed: number,
  notStarted: number,
  delayMeanMs: number,
  delayMaxMs: number,
  mostAtOnce: number,
  shareEntitled: maybe(number),
});
export const trial = named(
  "Trial",
  object({
    before: trialFigures,
    after: trialFigures,
    heldByLimits: maybe(number),
    message: text,
    basis: object({ runs: number, since: time, until: time, isPart: boolean, note: text }),
  }),
);
export const problem = named(
  "Problem",
  object({
    type: text,
    title: text,
    status: number,
    code: text,
    detail: text,
    issues: optional(list(object({ path: text, message: text }))),
    retryAfterMs: optional(number),
  }),
);
