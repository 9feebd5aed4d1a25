// Acting takes two calls: the first shows what would happen and gives a token, the second repeats the same words with it. A token is good once, for
// these very words, for a while, in this process.
import { randomBytes } from "node:crypto";
import type { Clock } from "../base/clock.js";

const OPEN_MAX = 100;
const CONFIRM_MS = 10 * 60_000;

export class Confirmations {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #open = new Map<string, { readonly words: string; readonly endMs: number }>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** A token for these words. The oldest ones make room. */
  offer(words: unknown): string {
    const token = randomBytes(12).toString("base64url");
    this.#open.set(token, { words: canonical(words), endMs: this.#clock.monotonic() + CONFIRM_MS });
    for (const known of [...this.#open.keys()].slice(0, -OPEN_MAX)) this.#open.delete(known);
    return token;
  }

  /** Why the token does not confirm these words; undefined: it does, and is spent. */
  refusal(token: string, words: unknown): string | undefined {
    const found = this.#open.get(token);
    if (found === undefined || found.endMs < this.#clock.monotonic())
      return "This token is not known, spent, or too old: call without confirm for a new preview.";
    if (found.words !== canonical(words))
      return "This token was given for other words: repeat the call of the preview as it was, or ask for a new preview.";
    this.#open.delete(token);
    return undefined;
  }
}

/** The same text for the same content, whatever the order of members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
