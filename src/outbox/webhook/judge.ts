// What an answer means for the message: taken, not taken, or nobody knows.
import type { WebhookAnswer } from "./answer.js";
import { WebhookRefusedError, WebhookUncertainError } from "./webhook-errors.js";

/** Longer than this nobody is asked to wait. */
const RETRY_AFTER_MS_MAX = 86_400_000;

/** Seconds, or a date. */
export function retryAfterOf(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = /^\d{1,10}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), RETRY_AFTER_MS_MAX);
}

/** Said by the status itself: not now. */
const LATER = new Map([
  [408, "the request took too long"],
  [425, "too early"],
  [429, "too many requests"],
]);

/**
 * Throws unless the receiver took the message. Who answers with 5xx may have taken it before it failed, or something in front of it
 * answered: that is uncertain.
 */
export function judge(origin: string, answer: WebhookAnswer, retryAfterMs: number | undefined): void {
  const { status } = answer;
  if (status >= 200 && status < 300) return;
  if (status >= 500) throw new WebhookUncertainError(origin, `it answered ${status}`, { answer, retryAfterMs });
  const later = LATER.get(status);
  if (later !== undefined) throw new WebhookRefusedError(origin, answer, later, true, retryAfterMs);
  // Followed, it could lead anywhere, and the one at its end would get what was signed for another.
  const what =
    status >= 300 && status < 400
      ? "it points elsewhere, and webhooks are not redirected"
      : status === 410
        ? "it is gone for good; send it nothing more"
        : "it does not take the message";
  throw new WebhookRefusedError(origin, answer, what, false, undefined);
}
