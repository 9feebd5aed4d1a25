// A user wrote words: a job, or a refusal in words. Safe to repeat, because Telegram repeats an update that was not answered.
import type { Client } from "fairmill";
import { apologise, makeSticker } from "./jobs.js";
import type { People } from "./people.js";
import { refusalOf } from "./refusal-words.js";
import type { TelegramChannel } from "./telegram-channel.js";

export interface Desk {
  readonly client: Client;
  readonly people: People;
  readonly telegram: TelegramChannel;
}

export interface StickerRequest {
  readonly update: number;
  readonly user: string;
  readonly chat: number;
  readonly words: string;
  /** By Telegram's clock, in seconds. */
  readonly sentAt: number;
}

const PAYING_PRIORITY = 10;

export async function requestSticker({ client, people, telegram }: Desk, request: StickerRequest): Promise<void> {
  const { update, user, chat, words, sentAt } = request;
  const { community: tenant, isPaying } = await people.get(user);
  try {
    // A batch of one, because a batch says when a member has died of whatever cause: out of attempts, too late in the queue, a handler that
    // kills its workers. The callback is stored once, in the transaction that ends the job and gives the credit back.
    await client.batches.create({ tenant, onDeath: { job: apologise, input: { chat, update } } }, (batch) =>
      batch.add(
        makeSticker,
        { user, chat, words },
        { idempotencyKey: `update-${update}`, priority: isPaying ? PAYING_PRIORITY : 0 },
      ),
    );
  } catch (error) {
    const refusal = refusalOf(error);
    if (!refusal) throw error;
    // Once a minute: a user who sends a hundred requests gets a handful of answers. The minute is Telegram's, so a repeated update finds the same key.
    const idempotencyKey = `refused-${user}-${refusal.reason}-${Math.floor(sentAt / 60)}`;
    await client.publish(telegram, { chat, text: refusal.text }, { tenant, idempotencyKey });
  }
}
