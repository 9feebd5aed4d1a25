// What a user is told when a request is not taken, or a sticker could not be made: in words, with what to do.
import { ActiveLimitError, CreditsExhaustedError, InputInvalidError, RateLimitError } from "fairmill";

export interface Refusal {
  /** For the key of the message: the same refusal is told once a minute. */
  readonly reason: "no-credits" | "busy" | "too-many" | "words";
  readonly text: string;
}

/** Undefined: not a refusal, but a failure of ours. */
export function refusalOf(error: unknown, now = Date.now()): Refusal | undefined {
  if (error instanceof CreditsExhaustedError)
    return { reason: "no-credits", text: "You have no stickers left. Buy more, and send the words again." };
  if (error instanceof ActiveLimitError)
    return { reason: "busy", text: "I am still drawing your last sticker. Send the next words when it is there." };
  if (error instanceof RateLimitError) {
    const seconds = Math.max(1, Math.ceil(((error.retryAt?.getTime() ?? now + 60_000) - now) / 1_000));
    return { reason: "too-many", text: `That is five stickers in a minute. The next one in ${seconds} seconds.` };
  }
  if (error instanceof InputInvalidError)
    return { reason: "words", text: "Tell me in at most 200 characters what to draw, like: a happy cat." };
  return undefined;
}

/** By the code of the error that the job died of. */
export function apologyFor(code: string | undefined): string {
  const back = "Your credit is back.";
  if (code === "STICKERS_SERVICE_REFUSED") return `I am not allowed to draw this. ${back} Try other words.`;
  if (code === "FAIRMILL_EXPIRED")
    return `There was too much to do, and your sticker came too late. ${back} Please ask again.`;
  return `I could not make your sticker: the drawing services do not answer. ${back} Please try again later.`;
}
