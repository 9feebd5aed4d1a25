// Users who are not there: they join a community, ask for stickers, wait for the answer, look at it for a while, and buy credits when they
// have none left. A noisy user does not look: the next request follows at once.
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { MOODS } from "../moods.js";
import type { ChatMessage, TelegramSimulator } from "../simulators/telegram.js";
import { type Update, userPaid, userSays } from "../simulators/updates.js";

const CREATURES = ["cat", "bear", "bunny", "fox", "frog", "ghost"] as const;
const SCENES = ["with a hat", "in the rain", "on a bicycle", "at work", "with cake", "on Monday"] as const;
/** A calm user stays below five requests a minute; a noisy one is soon told so. */
const LOOKS_MS = { calm: { least: 9_000, most: 15_000 }, noisy: { least: 0, most: 300 } } as const;
/** From the welcome to the first words. */
const THINKS_MS = { calm: { least: 500, most: 4_000 }, noisy: { least: 0, most: 300 } } as const;
/** Then the user asks again, whatever became of the request. */
const PATIENCE_MS = 60_000;

export interface Arrival {
  readonly community: string;
  readonly user: number;
  readonly words: string;
  readonly seconds: number;
  readonly message: ChatMessage;
}

export class SyntheticUsers {
  readonly #telegram: Pick<TelegramSimulator, "userWrites">;
  readonly #signal: AbortSignal;
  readonly #onArrival: (arrival: Arrival) => void;
  /** By chat: who waits for an answer. */
  readonly #waiting = new Map<string, (message: ChatMessage) => void>();
  readonly #lives: Promise<void>[] = [];
  #lastUser: number;

  /**
   * `startedAt`, in milliseconds: users of an earlier run keep their accounts and communities, and these must be none of them. So a number is the
   * time of the start and counts from there, and no run adds a thousand users in each second of its life.
   */
  constructor(
    telegram: Pick<TelegramSimulator, "userWrites" | "onMessage">,
    startedAt: number,
    signal: AbortSignal,
    onArrival: (arrival: Arrival) => void,
  ) {
    this.#telegram = telegram;
    this.#lastUser = startedAt;
    this.#signal = signal;
    // Every user listens to it.
    setMaxListeners(0, signal);
    this.#onArrival = onArrival;
    telegram.onMessage = (chat, message) => this.#waiting.get(chat)?.(message);
  }

  /** `requests`: how often each of them asks; for ever unless given. */
  add(community: string, count: number, mood: "calm" | "noisy" = "calm", requests = Number.POSITIVE_INFINITY): void {
    for (let n = 0; n < count; n++)
      this.#lives.push(this.#live(community, ++this.#lastUser, mood, requests).catch(() => {}));
  }

  /** Resolves when all of them have gone, after the signal. */
  async gone(): Promise<void> {
    await Promise.all(this.#lives);
  }

  async #live(community: string, user: number, mood: "calm" | "noisy", requests: number): Promise<void> {
    await this.#pause(0, mood === "noisy" ? 500 : 2_000);
    await this.#write(user, userSays(user, `/start ${community}`));
    for (let n = 0; n < requests; n++) {
      const { least, most } = (n === 0 ? THINKS_MS : LOOKS_MS)[mood];
      await this.#pause(least, most);
      const words = `${pick(MOODS)} ${pick(CREATURES)} ${pick(SCENES)}`;
      const answer = await this.#ask(community, user, words);
      if (answer?.text?.includes("no stickers left")) await this.#write(user, userPaid(user));
    }
  }

  /** The sticker, or words that are not only about what is being done; undefined when nothing came. */
  async #ask(community: string, user: number, words: string): Promise<ChatMessage | undefined> {
    const askedAt = performance.now();
    const answered = new Promise<ChatMessage>((resolve) => {
      this.#waiting.set(String(user), (message) => {
        if (message.text?.endsWith("…") || /^(Send me|Thank you)/.test(message.text ?? "")) return;
        const seconds = (performance.now() - askedAt) / 1_000;
        this.#onArrival({ community, user, words, seconds, message });
        resolve(message);
      });
    });
    await this.#write(user, userSays(user, words));
    const over = new AbortController();
    const patience = sleep(PATIENCE_MS, undefined, { signal: AbortSignal.any([this.#signal, over.signal]) }).catch(
      () => {},
    );
    const answer = await Promise.race([answered, patience]);
    over.abort();
    this.#waiting.delete(String(user));
    this.#signal.throwIfAborted();
    return answer ?? undefined;
  }

  /** As Telegram does: an update that is not answered with 200 is brought again. */
  async #write(user: number, update: Update): Promise<void> {
    for (;;) {
      this.#signal.throwIfAborted();
      if ((await this.#telegram.userWrites(update).catch(() => 0)) === 200) return;
      await this.#pause(500 + (user % 100), 1_000);
    }
  }

  #pause(least: number, most: number): Promise<void> {
    return sleep(least + (most - least) * Math.random(), undefined, { signal: this.#signal });
  }
}

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;
