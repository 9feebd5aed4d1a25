// How a webhook can fail. What counts most to the caller: did the receiver certainly not take it, or may it have?
import { FairmillError } from "../../base/errors.js";
import type { WebhookAnswer } from "./answer.js";

interface Facts {
  /** false: the receiver certainly did not take the message. "unknown": it may have. */
  readonly delivered: false | "unknown";
  /** Whether another try can help. */
  readonly retryable: boolean;
  readonly answer?: WebhookAnswer | undefined;
  readonly cause?: unknown;
}

/** A webhook was not sent, or nobody knows. The classes below say why; `delivered` and `retryable` say what to do. */
export abstract class WebhookError extends FairmillError {
  readonly delivered: false | "unknown";
  readonly retryable: boolean;
  /** What the receiver answered, if it did. */
  readonly status: number | undefined;
  readonly answer: WebhookAnswer | undefined;

  constructor(code: string, message: string, { delivered, retryable, answer, cause }: Facts) {
    super(code, message, cause === undefined ? undefined : { cause });
    this.delivered = delivered;
    this.retryable = retryable;
    this.status = answer?.status;
    this.answer = answer;
  }
}

/** The address is none that webhooks may go to: malformed, not https, a forbidden port, or not in the open internet. */
export class WebhookDestinationError extends WebhookError {
  override readonly name = "WebhookDestinationError";
  constructor(message: string) {
    super("FAIRMILL_WEBHOOK_DESTINATION", message, { delivered: false, retryable: false });
  }
}

/** No connection came about, so nothing was sent. */
export class WebhookUnreachableError extends WebhookError {
  override readonly name = "WebhookUnreachableError";
  constructor(origin: string, what: string, cause?: unknown) {
    super("FAIRMILL_WEBHOOK_UNREACHABLE", `${origin} cannot be reached: ${what}. Nothing was sent.`, {
      delivered: false,
      retryable: true,
      cause,
    });
  }
}

/** The receiver answered that it did not take the message. */
export class WebhookRefusedError extends WebhookError {
  override readonly name = "WebhookRefusedError";
  /** How long the receiver asks to wait (Retry-After). */
  readonly retryAfterMs: number | undefined;
  /** 410: the receiver is gone for good; send it nothing more. */
  readonly isGone: boolean;
  constructor(
    origin: string,
    answer: WebhookAnswer,
    what: string,
    retryable: boolean,
    retryAfterMs: number | undefined,
  ) {
    super("FAIRMILL_WEBHOOK_REFUSED", `${origin} answered ${answer.status}: ${what}.`, {
      delivered: false,
      retryable,
      answer,
    });
    this.retryAfterMs = retryAfterMs;
    this.isGone = answer.status === 410;
  }
}

/** The message was sent, at least in part, and whether the receiver took it is not known. */
export class WebhookUncertainError extends WebhookError {
  override readonly name = "WebhookUncertainError";
  /** How long the receiver asks to wait (Retry-After). */
  readonly retryAfterMs: number | undefined;
  constructor(
    origin: string,
    what: string,
    facts: { answer?: WebhookAnswer; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(
      "FAIRMILL_WEBHOOK_UNCERTAIN",
      `${origin} may have taken the message or not: ${what}. Sending it again is safe where the receiver remembers webhook-id.`,
      { delivered: "unknown", retryable: true, ...facts },
    );
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** A received webhook is not from who has the secret, was changed on its way, or is too old. */
export class WebhookSignatureError extends FairmillError {
  override readonly name = "WebhookSignatureError";
  readonly reason: "missing" | "malformed" | "time" | "signature";
  constructor(reason: WebhookSignatureError["reason"], what: string) {
    super("FAIRMILL_WEBHOOK_SIGNATURE", `The webhook is not accepted: ${what}.`);
    this.reason = reason;
  }
}
