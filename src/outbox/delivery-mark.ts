// What is written about an attempt to deliver a message, in the transaction that settles its job.
import type { ErrorRecord } from "../base/error-record.js";

/** What an attempt to send came to: sent; refused: it certainly did not arrive; uncertain: it may have. */
export interface DeliveryMark {
  readonly outcome: "sent" | "refused" | "uncertain";
  /** What the receiver said. */
  readonly answer?: unknown;
  readonly error?: Pick<ErrorRecord, "name" | "message" | "code">;
}
