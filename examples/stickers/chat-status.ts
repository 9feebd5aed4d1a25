// The line in the chat that says what the bot is doing. It is a courtesy: it never fails a job, and is left out where Telegram would refuse it.
import type { Api } from "grammy";

/** Telegram takes one message a second from a chat; edits count. */
const CHAT_PAUSE_MS = 1_000;

export class ChatStatus {
  readonly #api: Api;
  readonly #chat: number;
  readonly #message: number | null;
  #lastAt = performance.now();

  /** `message`: what `say` returned in this run or an earlier one. */
  constructor(api: Api, chat: number, message: number | null) {
    this.#api = api;
    this.#chat = chat;
    this.#message = message;
  }

  /** The id of the message; null where Telegram did not take it. */
  static async say(api: Api, chat: number, text: string): Promise<number | null> {
    return api.sendMessage(chat, text).then(
      ({ message_id }) => message_id,
      () => null,
    );
  }

  async change(text: string): Promise<void> {
    const now = performance.now();
    if (this.#message === null || now - this.#lastAt < CHAT_PAUSE_MS) return;
    this.#lastAt = now;
    await this.#api.editMessageText(this.#chat, this.#message, text).catch(() => {});
  }
}
