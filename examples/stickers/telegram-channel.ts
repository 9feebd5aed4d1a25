// How messages leave for Telegram. It takes no idempotency key and cannot be asked what arrived, so the policy is: a send that was cut off in
// the middle is never repeated by itself. It ends as `unknown`, stays listed (`fairmill outbox --status unknown`), and a person says
// `resend`, `sent` or `failed`. A sticker twice would be harmless; a habit of sending twice would not be.
import { type Channel, type Client, defineChannel, exponential, NotDeliveredError } from "fairmill";
import type { Storage } from "fairmill/storage";
import { type Api, GrammyError, HttpError, InputFile } from "grammy";
import { z } from "zod";
import { fileOf } from "./draw-sticker.js";
import { messageEnded } from "./jobs.js";

/** A text, or a sticker by its key in the storage. */
const message = z.union([
  z.object({ chat: z.number(), text: z.string() }),
  z.object({ chat: z.number(), sticker: z.string() }),
]);
export type TelegramMessage = z.infer<typeof message>;
export type TelegramChannel = Channel<TelegramMessage>;

export const telegramChannel = (api: Api, storage: Storage): TelegramChannel =>
  defineChannel({
    name: "telegram",
    input: message,
    receiver: "neither",
    key: ({ chat }) => String(chat),
    // Of one chat. What the bot may send in all: `limitTelegram`.
    limits: { rate: { limit: 1, per: "1s" } },
    retry: { attempts: 8, backoff: exponential({ base: "1s", cap: "1m" }) },
    timeout: "30s",
    onEnd: messageEnded,
    send: async (given) => {
      // What is missing here was never sent: that is certain.
      const sticker =
        "sticker" in given
          ? await fileOf(storage, given.sticker).catch((error: Error) => {
              throw new NotDeliveredError(error.message, { retryable: false, cause: error });
            })
          : undefined;
      try {
        const sent =
          "text" in given
            ? await api.sendMessage(given.chat, given.text)
            : await api.sendSticker(given.chat, new InputFile(sticker!, "sticker.webp"));
        return { message: sent.message_id };
      } catch (error) {
        throw certainRefusal(error) ?? error;
      }
    },
  });

/** Telegram takes thirty messages a second from a bot, whatever the number of workers. Status lines in chats need some of them. */
export const limitTelegram = async (client: Client, channel: TelegramChannel): Promise<void> => {
  await client.kinds.set(channel.definition.kind, { rate: { limit: 20, per: "1s" } });
};

/** Only what Telegram certainly did not take; anything else leaves the message unknown. */
function certainRefusal(error: unknown): NotDeliveredError | undefined {
  if (error instanceof GrammyError) {
    const { error_code: status, parameters } = error;
    if (status === 429)
      return Object.assign(new NotDeliveredError(error.description, { cause: error }), {
        retryAfterMs: (parameters.retry_after ?? 1) * 1_000,
      });
    // Blocked by the user, a chat that is gone, a file that it does not like.
    if (status >= 400 && status < 500)
      return new NotDeliveredError(error.description, { retryable: false, cause: error });
    return undefined;
  }
  const cause = error instanceof HttpError ? (error.error as { code?: unknown }) : undefined;
  return cause?.code === "ECONNREFUSED" || cause?.code === "ENOTFOUND"
    ? new NotDeliveredError("Telegram could not be reached.", { cause: error })
    : undefined;
}
