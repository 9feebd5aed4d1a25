// The handlers of a request: make the sticker, or say sorry.
import { type Handler, handle } from "fairmill";
import { ChatStatus } from "./chat-status.js";
import { drawSticker } from "./draw-sticker.js";
import { apologise, makeSticker } from "./jobs.js";
import type { Parts } from "./parts.js";
import { apologyFor } from "./refusal-words.js";

/** One message for each job. */
export const stickerMessageKey = (job: string): string => `sticker-${job}`;

/** A sticker that is made goes before words: when many users come at once, Telegram's limit is what they wait for. */
const STICKER_PRIORITY = 10;

export const stickerHandler = (parts: Parts): Handler =>
  handle(makeSticker, async (ctx) => {
    const { chat, words } = ctx.input;
    const message = await ctx.step("status", () => ChatStatus.say(parts.api, chat, `“${words}”: drawing …`));
    const status = new ChatStatus(parts.api, chat, message);
    const drawn = await drawSticker(parts, ctx, { folder: ctx.tenant, words }, async (doing) => {
      await ctx.progress({ doing });
      await status.change(`“${words}”: ${doing} …`);
    });
    // A second behind the last line in the chat. Stored with the end of this job, together with the capture of the credit: both or neither, however often the handler runs.
    await ctx.publish(
      parts.telegram,
      { chat, sticker: drawn.key },
      { idempotencyKey: stickerMessageKey(ctx.id), delay: status.restMs, priority: STICKER_PRIORITY },
    );
    return drawn;
  });

export const apologyHandler = (parts: Parts): Handler =>
  handle(apologise, async (ctx) => {
    const called = await ctx.calledBy();
    const [dead] = called ? await parts.client.jobs.list({ batch: called.batch, state: "dead", limit: 1 }) : [];
    await ctx.publish(
      parts.telegram,
      { chat: ctx.input.chat, text: apologyFor(dead?.error?.code) },
      { idempotencyKey: `apology-${ctx.input.update}` },
    );
  });
