// What an answer, or an error, says of the provider: whether the call failed, whether a limit was met, and whether it was paid. Pure.
import { NonRetryableError } from "../base/errors.js";
import { isThenable } from "../base/thenable.js";
import { type HeaderReader, type Limited, limitedBy } from "./rate-headers.js";

/**
 * ok: it answered. failed: the breaker counts it. limited: it takes no more for a while, which is not a failure. refused: it does not know us, say: no
 * reason to leave it alone, but another one may do. cut: the call was stopped from here, and says nothing.
 */
export type CallResult = "ok" | "failed" | "limited" | "refused" | "cut";

export interface Judgement {
  readonly result: CallResult;
  readonly status: number | undefined;
  readonly limited: Limited | undefined;
}

/** As much of `Response` as is read; those of other libraries will do. */
export interface AnswerLike {
  readonly status: number;
  readonly headers?: unknown;
}

export const isAnswer = (value: unknown): value is AnswerLike => {
  try {
    return (
      typeof value === "object" &&
      value !== null &&
      !isThenable(value) &&
      Number.isInteger((value as AnswerLike).status) &&
      typeof (value as { headers?: { get?: unknown } }).headers?.get === "function"
    );
  } catch {
    return false;
  }
};

function judgeStatus(status: number, read: HeaderReader, nowMs: number, pauseMs: number): Judgement {
  const isLimited = status === 429;
  const limited = limitedBy(read, nowMs, isLimited || status === 503);
  if (isLimited) return { result: "limited", status, limited: limited ?? { ms: pauseMs, by: "429" } };
  const result = status >= 500 || status === 408 ? "failed" : status === 401 || status === 403 ? "refused" : "ok";
  return { result, status, limited };
}

/** Of an answer. */
export const judgeAnswer = ({ status, headers }: AnswerLike, nowMs: number, pauseMs: number): Judgement =>
  judgeStatus(status, readerOf(headers), nowMs, pauseMs);

/**
 * Of what was thrown: clients of providers throw errors with a `status` and `headers`, their own or those of a `response`; `retryAfterMs` says the
 * same in numbers. Anything else is a call that failed.
 */
export function judgeError(error: unknown, nowMs: number, pauseMs: number): Judgement {
  try {
    const from = error as {
      status?: unknown;
      statusCode?: unknown;
      headers?: unknown;
      retryAfterMs?: unknown;
      retryable?: unknown;
      response?: { status?: unknown; headers?: unknown };
    };
    const status = [from.status, from.statusCode, from.response?.status].find((one) => Number.isInteger(one));
    if (typeof status === "number") {
      const judged = judgeStatus(status, readerOf(from.headers ?? from.response?.headers), nowMs, pauseMs);
      const ms = from.retryAfterMs;
      if (judged.result === "limited" && typeof ms === "number" && ms >= 0)
        return { ...judged, limited: { ms, by: "retryAfterMs" } };
      return judged;
    }
    // The handler's own: it has its answer, and does not want another one.
    if (error instanceof NonRetryableError || from.retryable === false)
      return { result: "ok", status: undefined, limited: undefined };
  } catch {}
  return { result: "failed", status: undefined, limited: undefined };
}

/** Headers as a `Headers` object, a map, or a plain object. */
function readerOf(headers: unknown): HeaderReader {
  if (typeof headers !== "object" || headers === null) return () => undefined;
  const { get } = headers as { get?: unknown };
  if (typeof get === "function")
    return (name) => {
      const value: unknown = get.call(headers, name);
      return typeof value === "string" ? value : undefined;
    };
  const lower = new Map<string, string>();
  for (const [name, value] of Object.entries(headers))
    if (typeof value === "string" || typeof value === "number") lower.set(name.toLowerCase(), String(value));
  return (name) => lower.get(name);
}
