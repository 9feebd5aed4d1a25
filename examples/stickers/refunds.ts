// Gives the credit back for a sticker that was made and certainly could not be delivered: the user has blocked the bot, the chat is gone. The outbox enqueues this job
// when a message has its end. One that ends as `unknown` may have arrived, so nothing is given back; when a person resolves it as `failed`, that is its second end.
import { type Handler, handle } from "fairmill";
import { messageEnded } from "./jobs.js";
import { stickerMessageKey } from "./make-sticker.js";
import type { Parts } from "./parts.js";

export const refundHandler = ({ client }: Parts): Handler =>
  handle(messageEnded, async ({ input: { outcome, idempotencyKey, reference: job } }) => {
    const isSticker = job !== null && idempotencyKey === stickerMessageKey(job);
    if (outcome !== "failed" || !isSticker) return { refunded: 0 };
    // Once for each job, however often it is asked for.
    const { isNew } = await client.credits.refund(job, { reason: "the sticker could not be delivered" });
    return { refunded: isNew ? 1 : 0 };
  });
