// Jobs: rows, details, why, steps, and actions on many of them.
import { anyJson, boolean, id, list, named, number, object, oneOf, record, text, time } from "../schema.js";
import { count, jobState, maybe } from "./common.js";

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
    firstStartedAt: maybe(time),
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
    credits: maybe(object({ account: text, amount: number, state: oneOf("reserved", "captured", "released") })),
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
    checks: list(object({ check: text, passed: boolean, reason: text, detail: maybe(record) })),
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
