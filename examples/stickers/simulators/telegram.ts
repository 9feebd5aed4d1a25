// Telegram's Bot API, as far as the bot uses it: sendMessage, editMessageText, sendSticker, answerCallbackQuery, getMe, setWebhook. Limits of
// 30 messages a second in all and one a second per chat. It takes no idempotency key and cannot be asked what arrived: a chat shows duplicates.
import { createHash } from "node:crypto";
import { formOf } from "./form.js";
import { type Answer, json, SimulatedService, type Taken, type Weather } from "./service.js";

export interface ChatMessage {
  readonly id: number;
  readonly at: number;
  text?: string;
  readonly sticker?: Uint8Array;
}

const ROUTE = /^\/bot([^/]+)\/(\w+)$/;
const CHAT_PAUSE_MS = 1_000;
/** Updates that are brought at once: `max_connections` of a webhook. */
const CONNECTIONS_MAX = 40;

export class TelegramSimulator extends SimulatedService {
  readonly chats = new Map<string, ChatMessage[]>();
  /** Users who have blocked the bot. */
  readonly blocked = new Set<string>();
  /** Is told of every message that a chat shows. */
  onMessage: (chat: string, message: ChatMessage) => void = () => {};
  readonly #token: string;
  /** By chat, when it last took something. */
  readonly #lastAt = new Map<string, number>();
  #lastId = 0;
  #connections = 0;
  readonly #waiting: (() => void)[] = [];
  #webhook: { url: string; secret: string | undefined } | undefined;

  constructor(token: string, weather: Partial<Weather> = {}, random?: () => number) {
    super({ latencyMs: [20, 80], perSecond: 30, inFlightMax: 100, ...weather }, random);
    this.#token = token;
  }

  protected async answer(request: Taken): Promise<Answer> {
    const [, token, method] = ROUTE.exec(request.path) ?? [];
    if (method === undefined) return failure(404, "Not Found");
    if (token !== this.#token) return failure(401, "Unauthorized");
    const given = parametersOf(request);
    switch (method) {
      case "getMe":
        return done({ id: 1, is_bot: true, first_name: "Stickers", username: "stickers_bot" });
      case "setWebhook":
        this.#webhook = { url: String(given.get("url")), secret: textOf(given.get("secret_token")) };
        return done(true);
      case "answerCallbackQuery":
        return done(true);
      case "sendMessage":
        return this.#send(given, { text: String(given.get("text") ?? "") });
      case "sendSticker": {
        const sticker = given.get("sticker");
        if (!(sticker instanceof Blob)) return failure(400, "Bad Request: there is no sticker in the request");
        return this.#send(given, { sticker: new Uint8Array(await sticker.arrayBuffer()) });
      }
      case "editMessageText":
        return this.#edit(given);
      default:
        return failure(404, "Not Found: method not found");
    }
  }

  #send(given: FormData, content: Pick<ChatMessage, "text" | "sticker">): Answer {
    const chat = this.#chatOf(given);
    if (chat === undefined) return failure(400, "Bad Request: chat_id is empty");
    const chatId = String(given.get("chat_id"));
    if (this.blocked.has(chatId)) return failure(403, "Forbidden: bot was blocked by the user");
    const at = Date.now();
    if (!this.#takesFrom(chatId, at)) return tooMany(1);
    const message: ChatMessage = { id: ++this.#lastId, at, ...content };
    chat.push(message);
    this.onMessage(chatId, message);
    return done({
      message_id: message.id,
      date: Math.floor(at / 1_000),
      chat: { id: Number(given.get("chat_id")), type: "private" },
      text: message.text,
    });
  }

  #edit(given: FormData): Answer {
    const message = this.#chatOf(given)?.find(({ id }) => id === Number(given.get("message_id")));
    if (message?.text === undefined) return failure(400, "Bad Request: message to edit not found");
    const text = String(given.get("text") ?? "");
    if (text === message.text) return failure(400, "Bad Request: message is not modified");
    if (!this.#takesFrom(String(given.get("chat_id")), Date.now())) return tooMany(1);
    message.text = text;
    return done({ message_id: message.id, text });
  }

  /** Messages and edits of a chat, one a second. */
  #takesFrom(chat: string, at: number): boolean {
    if (at - (this.#lastAt.get(chat) ?? Number.NEGATIVE_INFINITY) < CHAT_PAUSE_MS) return false;
    this.#lastAt.set(chat, at);
    return true;
  }

  #chatOf(given: FormData): ChatMessage[] | undefined {
    const id = textOf(given.get("chat_id"));
    if (id === undefined || id === "") return undefined;
    const chat = this.chats.get(id) ?? [];
    this.chats.set(id, chat);
    return chat;
  }

  /** What Telegram does when a user writes: an update for the bot, to be repeated until it is answered with 200. So many at once; the others wait. */
  async userWrites(update: object): Promise<number> {
    if (this.#connections >= CONNECTIONS_MAX) await new Promise<void>((free) => this.#waiting.push(free));
    else this.#connections++;
    try {
      return await this.#bring(update);
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#connections--;
    }
  }

  async #bring(update: object): Promise<number> {
    if (!this.#webhook) throw new Error("The bot has set no webhook.");
    const { url, secret } = this.#webhook;
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...(secret && { "x-telegram-bot-api-secret-token": secret }) },
      body: JSON.stringify(update),
    });
    await answer.body?.cancel();
    return answer.status;
  }

  protected refuse(status: 429 | 500 | 503, retryAfterSeconds: number): Answer {
    return status === 429
      ? tooMany(retryAfterSeconds)
      : failure(status, status === 500 ? "Internal Server Error" : "Service Unavailable");
  }

  protected aboutOf({ body }: Taken): string {
    return createHash("sha256").update(body).digest("hex").slice(0, 16);
  }
}

const done = (result: unknown): Answer => json(200, { ok: true, result });
const failure = (error_code: number, description: string, parameters?: object): Answer =>
  json(error_code, { ok: false, error_code, description, ...(parameters && { parameters }) });
const tooMany = (seconds: number): Answer =>
  failure(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
const textOf = (value: ReturnType<FormData["get"]>): string | undefined =>
  typeof value === "string" ? value : undefined;

/** Parameters come as JSON or as a form. */
function parametersOf(request: Taken): FormData {
  if (request.headers["content-type"]?.startsWith("multipart/")) return formOf(request);
  const form = new FormData();
  try {
    const given = JSON.parse(request.body.toString("utf8") || "{}") as Record<string, unknown>;
    for (const [name, value] of Object.entries(given))
      form.set(name, typeof value === "string" ? value : JSON.stringify(value));
  } catch {
    // No parameters, then: the method says what is missing.
  }
  return form;
}
