// Errors about messages to receivers outside.
import { FairmillError } from "../base/errors.js";

/**
 * Throw this from a channel's `send` when the receiver certainly did not take the message: it refused, or was never reached. Whatever else
 * `send` throws leaves that uncertain.
 */
export class NotDeliveredError extends FairmillError {
  override readonly name = "NotDeliveredError";
  /** How channels know it, also of another copy of this package. */
  readonly delivered = false;
  /** False: trying again cannot help, and the message has failed. */
  readonly retryable: boolean;
  constructor(message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super("FAIRMILL_NOT_DELIVERED", message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryable = options.retryable ?? true;
  }
}

/** A message may have arrived or not, and its channel asks for review: an operator finds out, and says so by `resolveDelivery`. */
export class DeliveryUnknownError extends FairmillError {
  override readonly name = "DeliveryUnknownError";
  /** Never by itself. */
  readonly retryable = false;
  constructor(what: string, options?: { cause?: unknown }) {
    super(
      "FAIRMILL_DELIVERY_UNKNOWN",
      `Whether the message arrived is not known: ${what}. It is not sent again until a person says what became of it: client.outbox.resolve(id, "sent" | "failed" | "resend").`,
      options,
    );
  }
}

/** There is no such message in the outbox. */
export class MessageNotFoundError extends FairmillError {
  override readonly name = "MessageNotFoundError";
  constructor(id: string) {
    super("FAIRMILL_MESSAGE_NOT_FOUND", `There is no message ${id}: the id is wrong, or retention removed it.`);
  }
}

/** A job that delivers a message is not run again with other input: its key belongs to what was published. */
export class DeliveryJobError extends FairmillError {
  override readonly name = "DeliveryJobError";
  constructor(id: string) {
    super(
      "FAIRMILL_DELIVERY_JOB",
      `Job ${id} delivers a message: it is not rerun. Publish another message with a key of its own, or retry the job.`,
    );
  }
}
