// What is written about an attempt to deliver a message, in the transaction that settles its job.
import type { ErrorRecord } from "../base/error-record.js";
import { serializeResult } from "../base/json-content.js";
import type { VerdictDetailWriter } from "../core/settle/verdict-details.js";

/** What an attempt to send came to: sent; refused: it certainly did not arrive; uncertain: it may have. */
export interface DeliveryMark {
  readonly outcome: "sent" | "refused" | "uncertain";
  /** What the receiver said. */
  readonly answer?: unknown;
  readonly error?: Pick<ErrorRecord, "name" | "message" | "code">;
}

declare module "../core/job/outcome.js" {
  interface VerdictDetails {
    /** Of a delivery job: what its attempt to send came to. */
    readonly delivery?: DeliveryMark;
  }
}

export const deliveryWriter: VerdictDetailWriter<DeliveryMark> = {
  text: ({ answer, ...said }, keep) => {
    const { json } = serializeResult(answer);
    const kept = json === undefined ? undefined : keep(json);
    const told = JSON.stringify(said);
    return kept === undefined ? told : `${told.slice(0, -1)},"answer":${kept}}`;
  },
  // Whether a message was sent is no content of the handler's: that stays.
  bare: ({ outcome }) => ({ outcome }),
};
