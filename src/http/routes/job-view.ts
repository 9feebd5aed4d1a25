// A job as the API shows it: attempts as one list, where its time went, and nothing of other tenants in its reasons.
import { SEALED } from "../../core/job/codec.js";
import type { Backend } from "../backend.js";
import { type JobDetail, type JobRow, openJob, parseTraceparent, type Why, type WhyCheck } from "../rooms.js";

/** A job of a list: of its contents only the message of its error is there. */
export const toRow = ({ redact }: Backend, row: JobRow): JobRow =>
  redact && row.error
    ? { ...row, error: { ...row.error, message: row.error.message && String(redact(row.error.message)) } }
    : row;

export interface AttemptView {
  readonly attempt: number;
  readonly leaseNo: number;
  readonly worker: string | null;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  readonly outcome: string;
  readonly error: unknown;
  readonly dropped: number;
}

/** Failures, and the run that goes on or went well. */
export function attemptsOf(job: JobDetail): AttemptView[] {
  const failed = job.failures.map((failure) => ({ ...failure, dropped: failure.dropped ?? 0 }));
  const isKnown = failed.at(-1)?.leaseNo === job.leaseNo;
  if (job.startedAt === null || isKnown || (job.state !== "running" && job.state !== "done")) return failed;
  const { attempt, leaseNo, worker, startedAt, endedAt } = job;
  const outcome = job.state === "done" ? "done" : "running";
  return [...failed, { attempt, leaseNo, worker, startedAt, endedAt, outcome, error: null, dropped: 0 }];
}

/** What else is known about the time of a job. */
export interface TimeFacts {
  /** Its steps: what ran before it slept is in no attempt, because that attempt goes on after the sleep. */
  readonly steps: readonly StepTime[];
  /** How often a rate put it back: then its time to run is not what the caller asked for. */
  readonly rateLimitedTimes: number;
  /** For what jobs of its tenant waited while it did, as samples of the fleet saw it; undefined: none was taken in that time. */
  readonly split: { readonly limits: number; readonly worker: number } | undefined;
}

export interface StepTime {
  readonly kind: string;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
}

/** When its first run began. A job that slept in a step started again after it: then its first step is older than what its attempts tell. */
export function firstStartOf(job: JobDetail, steps: readonly StepTime[]): Date | null {
  const times = [...attemptsOf(job), ...steps].map(({ startedAt }) => startedAt.getTime());
  return times.length === 0 ? null : new Date(Math.min(...times));
}

/** When it was enqueued, and when its first run began, or its end, or now: in between it waited. */
export const firstWaitOf = (job: JobDetail, steps: readonly StepTime[], nowMs: number) => ({
  fromMs: job.createdAt.getTime(),
  untilMs: (firstStartOf(job, steps) ?? job.endedAt)?.getTime() ?? nowMs,
});

const isWithin = (at: Date, one: AttemptView): boolean =>
  at >= one.startedAt && (one.endedAt === null || at <= one.endedAt);
/** A step that runs, or that failed, is in an attempt; a sleep lasts until it is over. */
const sumOf = (steps: readonly StepTime[], endMs: number): number =>
  steps.reduce(
    (sum, { kind, startedAt, finishedAt }) =>
      sum + (finishedAt?.getTime() ?? (kind === "run" ? startedAt.getTime() : endMs)) - startedAt.getTime(),
    0,
  );

/** Between enqueue and end, or now: delayed as asked, waiting for the first run, running, and the pauses between runs. */
export function spentBy(job: JobDetail, attempts: readonly AttemptView[], nowMs: number, facts: TimeFacts) {
  const endMs = job.endedAt?.getTime() ?? nowMs;
  const { fromMs, untilMs } = firstWaitOf(job, facts.steps, nowMs);
  const totalMs = Math.max(0, endMs - fromMs);
  const earlier = facts.steps.filter(
    ({ kind, startedAt }) => kind === "run" && !attempts.some((one) => isWithin(startedAt, one)),
  );
  const ranMs =
    sumOf(earlier, endMs) +
    attempts.reduce((sum, one) => sum + ((one.endedAt?.getTime() ?? nowMs) - one.startedAt.getTime()), 0);
  const inSleep = sumOf(
    facts.steps.filter(({ kind }) => kind !== "run"),
    endMs,
  );
  const beforeMs = Math.max(0, untilMs - fromMs);
  // Later attempts have a time to run of their own.
  const isFirst =
    attempts.length <= 1 && facts.steps.every(({ kind }) => kind === "run") && facts.rateLimitedTimes === 0;
  const delayMs = isFirst && job.runAt !== null ? job.runAt.getTime() - fromMs : 0;
  const delayedMs = Math.min(beforeMs, Math.max(0, delayMs));
  const waitedMs = beforeMs - delayedMs;
  const sleptMs = Math.min(inSleep, Math.max(0, totalMs - beforeMs - ranMs));
  const retriedMs = Math.max(0, totalMs - beforeMs - ranMs - sleptMs);
  const part = (share: number | undefined) => (share === undefined ? null : waitedMs * share);
  return {
    ...{ delayedMs, waitedMs, ranMs: Math.max(0, ranMs), retriedMs, sleptMs },
    limitedMs: facts.rateLimitedTimes > 0 ? waitedMs : part(facts.split?.limits),
    unservedMs: facts.rateLimitedTimes > 0 ? 0 : part(facts.split?.worker),
    totalMs,
  };
}

/** What the application's function cannot say must not hide the job. */
function linksOf(http: Backend, { id, kind, tenant, trace }: JobDetail) {
  if (http.links === undefined) return [];
  try {
    const links = http.links({ id, kind, tenant, traceId: parseTraceparent(trace)?.traceId ?? null });
    return links.filter(({ url }) => /^https?:\/\//i.test(url)).slice(0, 20);
  } catch (error) {
    http.logger.warn({ err: error, job: id }, "The links of a job could not be made");
    return [];
  }
}

export function toDetail(http: Backend, stored: JobDetail, facts: TimeFacts) {
  const opened = openJob(http.context.codec, stored);
  const job = http.redactor.job(opened);
  const attempts = attemptsOf(job);
  const { failures: _failures, timeoutMs: _timeoutMs, credits, ...rest } = job;
  const shown = <T>(value: T): T => (http.redact ? (http.redact(value) as T) : value);
  return {
    ...rest,
    payload: shown(job.payload),
    progress: shown(job.progress),
    result: shown(job.result),
    error: shown(job.error),
    firstStartedAt: firstStartOf(job, facts.steps),
    attempts: attempts.map((one) => ({ ...one, error: shown(one.error) })),
    spent: spentBy(job, attempts, http.clock.now(), facts),
    links: linksOf(http, job),
    credits,
    redacted: http.redact !== undefined || JSON.stringify(job) !== JSON.stringify(opened),
    sealed: isSealed(job.payload),
  };
}

/** Also with a codec: its key may be another one. */
const isSealed = (payload: unknown): boolean => typeof payload === "object" && payload !== null && SEALED in payload;

const OF_OTHERS = new Set(["queue cap", "kind cap", "rate", "limit", "key", "worker", "turn", "order"]);

/** For a credential of one tenant: what holds the job, without naming jobs of others. */
export function withoutOthers(why: Why<string>): Why<string> {
  const checks = why.checks.map((one): WhyCheck => {
    if (!OF_OTHERS.has(one.check)) return one;
    const reason = one.passed ? `Its ${one.check} lets it through.` : `Its ${one.check} holds it back.`;
    return { ...one, reason, detail: null };
  });
  const holding = checks.find(({ passed }) => !passed) ?? checks.at(-1)!;
  return { ...why, checks, reason: holding.reason };
}
