// The line in the chat that says what the bot is doing. It is a courtesy: it never fails a job, and is left out where Telegram would refuse it.
import type { Api } from "grammy";

/** Telegram takes one message a second from a chat; edits count. */
const CHAT_PAUSE_MS = 1_000;
/**
 * It takes thirty a second from a bot. Messages of the outbox have twenty of them (`limitTelegram`); lines have nine, a third for each of at most three worker
 * processes (`fairmill.config.ts`), so that a line costs no round trip to the database. When they are used up, lines are left out.
 */
const PROCESS_LINES_PER_SECOND = 3;
const begunAt: number[] = [];

/** Whether this process may send one more line now. */
function mayTell(now: number): boolean {
  if (begunAt.length >= PROCESS_LINES_PER_SECOND && now - begunAt[0]! < 1_000) return false;
  begunAt.push(now);
  if (begunAt.length > PROCESS_LINES_PER_SECOND) begunAt.shift();
  return true;
}

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

  /** The id of the message; null where there is none. */
  static async say(api: Api, chat: number, text: string): Promise<number | null> {
    if (!mayTell(performance.now())) return null;
    return api.sendMessage(chat, text).then(
      ({ message_id }) => message_id,
      () => null,
    );
  }

  async change(text: string): Promise<void> {
    const now = performance.now();
    if (this.#message === null || now - this.#lastAt < CHAT_PAUSE_MS || !mayTell(now)) return;
    await this.#api.editMessageText(this.#chat, this.#message, text).catch(() => {});
    this.#lastAt = performance.now();
  }

  /** How long the chat must be left alone, because of the last line. */
  get restMs(): number {
    return this.#message === null ? 0 : Math.max(0, Math.ceil(CHAT_PAUSE_MS - (performance.now() - this.#lastAt)));
  }
}
