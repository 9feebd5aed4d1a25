// Errors, approvals, schedules, the audit, problems.
import { anyJson, boolean, id, list, named, number, object, oneOf, optional, record, text, time } from "../schema.js";
import { maybe } from "./common.js";

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
/** As the holder of a link sees it: of a question that is over, nothing of the job. */
export const question = named(
  "Question",
  object({
    state: oneOf("open", "answered", "over"),
    jobId: id,
    name: text,
    expiresAt: time,
    kind: maybe(text),
    tenant: maybe(text),
    question: anyJson,
    since: maybe(time),
    deadline: maybe(time),
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
    startsFlows: boolean,
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
    editedAt: maybe(time),
    overdueMs: number,
  }),
);
/** What its jobs are made of; null where ticks start flows. */
export const scheduleInput = named(
  "ScheduleInput",
  object({ input: anyJson, redacted: boolean, sealed: boolean, editable: boolean }),
);
export const nextRuns = named("NextRuns", object({ timezone: text, runs: list(time) }));
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
export const erasure = named(
  "Erasure",
  object({
    id,
    tenant: maybe(text),
    tenantDigest: text,
    actor: text,
    reason: maybe(text),
    state: oneOf("running", "done", "failed"),
    phase: text,
    counts: record,
    storages: list(text),
    error: maybe(text),
    createdAt: time,
    updatedAt: time,
    endedAt: maybe(time),
  }),
);
