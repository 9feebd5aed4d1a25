// Gives credits back for stickers that were made and certainly could not be delivered: the user has blocked the bot, the chat is gone. A
// message that is `unknown` is not among them: it may have arrived. When a person resolves it as `failed`, the next look refunds it.
import { type Client, type Handler, handle } from "fairmill";
import { refundUndelivered } from "./jobs.js";
import type { Parts } from "./parts.js";
import type { TelegramMessage } from "./telegram-channel.js";

const PAGE = 100;
/** A look goes no further back than this; a refund is repeated without effect, so looks may overlap. */
const MESSAGES_MAX = 1_000;

export const refundHandler = ({ client, telegram }: Parts): Handler =>
  handle(refundUndelivered, async () => {
    let refunded = 0;
    let before: string | undefined;
    for (let seen = 0; seen < MESSAGES_MAX; seen += PAGE) {
      const page = await client.outbox.list({
        channel: telegram.name,
        status: "failed",
        limit: PAGE,
        ...(before && { before }),
      });
      for (const { id } of page) {
        const payload = (await client.outbox.get(id))?.payload as TelegramMessage | undefined;
        if (!payload || !("sticker" in payload) || payload.job === undefined) continue;
        const reason = "the sticker could not be delivered";
        // Once for each job, however often it is asked for.
        const { isNew } = await client.credits.refund(payload.job, { reason });
        if (isNew) refunded++;
      }
      before = page.at(-1)?.id;
      if (page.length < PAGE) break;
    }
    return { refunded };
  });

export const scheduleRefunds = (client: Client): Promise<unknown> =>
  client.schedules.set("refunds", { cron: "* * * * *", job: refundUndelivered, input: {}, missed: "once" });
