// What a run came to, and what becomes of the job: decided here, purely, without a database and without a clock.

import { DURATION_MS_MAX, type Duration, toMs } from "../../base/duration.js";
import { type ErrorRecord, recordError } from "../../base/error-record.js";
import {
  FairmillError,
  JobCancelledError,
  LeaseLostError,
  NonRetryableError,
  PutBackError,
  ShutdownError,
  TimeoutError,
} from "../../base/errors.js";
import { isThenable } from "../../base/thenable.js";
import { type Backoff, exponential } from "./backoff.js";
import { KeyUnknownError, NotSealedError, SealBrokenError, SealedError } from "./codec-errors.js";
import { ContentElsewhereError } from "./stored-content-errors.js";

const MARK = Symbol.for("fairmill.outcome");

/** Returned by a handler instead of a result. */
export type Directive =
  | { readonly [MARK]: "cancel"; readonly reason: string | undefined }
  | { readonly [MARK]: "snooze"; readonly delayMs: number };

/** `return cancel("the user left")`: the job ends as cancelled. */
export const cancel = (reason?: string): Directive => ({ [MARK]: "cancel", reason });

/** `return snooze("1m")`: run again later; the attempt is not spent. */
export const snooze = (delay: Duration): Directive => ({ [MARK]: "snooze", delayMs: toMs(delay, "snooze") });

export const isDirective = (value: unknown): value is Directive =>
  typeof value === "object" && value !== null && hasMark(value);

const hasMark = (value: object) => isTrue(() => MARK in value);

/** What handlers return and throw may be proxies and getters that throw: a question that fails is answered with no. */
function isTrue(ask: () => boolean): boolean {
  try {
    return ask();
  } catch {
    return false;
  }
}

/** What the run came to. `abortedBy` is why the signal was aborted, if it was. */
export type Outcome =
  | { readonly type: "returned"; readonly value: unknown }
  /** It came to a sleep or a wait. `waits` are the signals that end it before the time. */
  | { readonly type: "paused"; readonly delayMs: number; readonly waits: readonly string[] }
  /** Its process was about to end when it came to a step: it goes on from there in another run. */
  | { readonly type: "yielded" }
  | { readonly type: "threw"; readonly error: unknown; readonly abortedBy?: unknown }
  /** The payload could not be opened, so the handler was never called. `unspent` claims before this one did not spend their attempt. */
  | { readonly type: "unopened"; readonly error: unknown; readonly unspent: number };

type Unopened = Extract<Outcome, { type: "unopened" }>;

/**
 * What else a run leaves to be written with its verdict, by feature: each adds its member here (`declare module`), and says how it is written
 * (`VerdictDetailWriters`). The core hands the members on and looks at none of them.
 */
// biome-ignore lint/suspicious/noEmptyInterface: features add the members.
export interface VerdictDetails {}

/** What is to be written. */
export type Verdict = Decision & VerdictDetails;

type Decision =
  | { readonly verdict: "done"; readonly result: unknown }
  | { readonly verdict: "cancelled"; readonly error?: ErrorRecord }
  | { readonly verdict: "dead"; readonly outcome: FailureOutcome; readonly error: ErrorRecord }
  | {
      readonly verdict: "retry";
      readonly outcome: FailureOutcome;
      readonly error: ErrorRecord;
      readonly delayMs: number;
    }
  | { readonly verdict: "snooze"; readonly delayMs: number; readonly waits?: readonly string[] }
  /** `yields`: its process ends, and it goes on from where it is; to come again and again is no fault. */
  | { readonly verdict: "release"; readonly reason?: string; readonly yields?: true }
  /** The process that ran it died, and its supervisor lives: as recovery does it, without waiting for a lease. */
  | { readonly verdict: "crashed"; readonly reason: string; readonly crashesMax: number };

export type FailureOutcome = "failed" | "timeout" | "invalid";

/** What the decision needs to know of the job. */
export interface AttemptFacts {
  readonly attempt: number;
  readonly crashes: number;
  readonly maxAttempts: number;
}

export function decide(job: AttemptFacts, outcome: Outcome, backoff: Backoff, random: number): Verdict {
  if (outcome.type === "returned") return decideReturned(outcome.value);
  if (outcome.type === "unopened") return decideUnopened(job, outcome, backoff, random);
  if (outcome.type === "paused") {
    const { delayMs, waits } = outcome;
    return waits.length === 0 ? { verdict: "snooze", delayMs } : { verdict: "snooze", delayMs, waits };
  }
  if (outcome.type === "yielded") return { verdict: "release", yields: true };
  const { error, abortedBy } = outcome;
  if (abortedBy instanceof JobCancelledError) return { verdict: "cancelled" };
  // After a lost lease the fence decides: if the job is still this worker's it goes back at once, else nothing is written.
  if (abortedBy instanceof ShutdownError || abortedBy instanceof LeaseLostError)
    return { verdict: "release", reason: abortedBy.message };
  const putBackMs = abortedBy instanceof TimeoutError ? undefined : putBackMsOf(error);
  if (putBackMs !== undefined) return { verdict: "snooze", delayMs: putBackMs };
  return decideFailed(job, abortedBy instanceof TimeoutError ? abortedBy : error, backoff, random);
}

/** Wrapped in errors of the handler's own, at most so deep. */
const CAUSES_MAX = 5;

/** The handler could not do its work yet, through no fault of the job: undefined: it failed. */
function putBackMsOf(error: unknown): number | undefined {
  let found: number | undefined;
  isTrue(() => {
    let cause = error;
    for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth++) {
      if (cause instanceof PutBackError) {
        found = Math.min(Math.max(0, cause.putBackMs), ASKED_MS_MAX);
        return true;
      }
      cause = cause.cause;
    }
    return false;
  });
  return found;
}

/** What most jobs come to: one for all of them. */
const DONE: Verdict = Object.freeze({ verdict: "done", result: undefined });

/** Of a handler that returned: neither the job's past nor the dice matter. */
export function decideReturned(value: unknown): Verdict {
  if (value === undefined) return DONE;
  if (!isDirective(value)) return { verdict: "done", result: value };
  if (value[MARK] === "snooze") return { verdict: "snooze", delayMs: value.delayMs };
  return value.reason === undefined
    ? { verdict: "cancelled" }
    : { verdict: "cancelled", error: { ...recordError(value.reason), name: "Cancelled" } };
}

/**
 * A key that is missing here may be there elsewhere, or after the next deployment: that is no fault of the job, so it waits and keeps
 * its attempt. The more often it was claimed without being tried, the longer. Everything else stays as it is, however often one looks.
 */
function decideUnopened(job: AttemptFacts, { error, unspent }: Unopened, backoff: Backoff, random: number): Verdict {
  if (error instanceof SealedError || error instanceof KeyUnknownError || error instanceof ContentElsewhereError)
    return { verdict: "snooze", delayMs: keyBackoff(unspent + 1, random) };
  if (error instanceof SealBrokenError || error instanceof NotSealedError)
    return { verdict: "dead", outcome: "invalid", error: recordError(error) };
  return decideFailed(job, error, backoff, random);
}

const keyBackoff = exponential({ base: "5s" });

function decideFailed(job: AttemptFacts, error: unknown, backoff: Backoff, random: number): Verdict {
  const outcome: FailureOutcome = isTrue(() => error instanceof TimeoutError)
    ? "timeout"
    : isInvalidPayload(error)
      ? "invalid"
      : "failed";
  const record = recordError(error);
  // Attempts that ended with the death of the worker do not use up the job's allowance.
  const failedAttempts = job.attempt - job.crashes;
  if (outcome === "invalid" || isNonRetryable(error) || failedAttempts >= job.maxAttempts)
    return { verdict: "dead", outcome, error: record };
  const delayMs = delayOf(backoff, failedAttempts, random);
  return {
    verdict: "retry",
    outcome,
    error: record,
    delayMs: Math.max(delayMs, leastDelayOf(error)),
  };
}

/** An error may say that it makes no sense to come again earlier: `retryAfterMs`, a day at most. */
const ASKED_MS_MAX = 86_400_000;

function leastDelayOf(error: unknown): number {
  let askedMs: unknown;
  isTrue(() => {
    askedMs = (error as { retryAfterMs?: unknown }).retryAfterMs;
    return true;
  });
  return typeof askedMs === "number" && askedMs > 0 ? Math.min(askedMs, ASKED_MS_MAX) : 0;
}

const usualBackoff = exponential();

/** A backoff of the user's that throws, or returns no duration, must not cost the job its verdict: the usual one takes its place. */
function delayOf(backoff: Backoff, failedAttempts: number, random: number): number {
  let delayMs: unknown;
  try {
    delayMs = backoff(failedAttempts, random);
    // One that is asynchronous is no better: nothing waits for it, and what it rejects with must not end the process.
    if (isThenable(delayMs)) delayMs.then(undefined, () => {});
  } catch {}
  return typeof delayMs === "number" && delayMs >= 0 && delayMs <= DURATION_MS_MAX
    ? delayMs
    : usualBackoff(failedAttempts, random);
}

/** A payload that no longer fits its schema will not fit at the next attempt either. */
const isInvalidPayload = (error: unknown) =>
  isTrue(() => error instanceof FairmillError && error.code === "FAIRMILL_PAYLOAD_OUTDATED");

/** Our own class, or any error that says so of itself. */
const isNonRetryable = (error: unknown) =>
  isTrue(
    () =>
      error instanceof NonRetryableError ||
      (typeof error === "object" && error !== null && (error as { retryable?: unknown }).retryable === false),
  );
