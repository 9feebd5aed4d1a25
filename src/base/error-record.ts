// How an error is kept: plain JSON of bounded size that PostgreSQL always accepts. Settling must never fail on content.
import { cleanText } from "./json-content.js";

export interface ErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: { readonly name: string; readonly message: string };
}

/** Together below 64 KiB, also when every letter takes three bytes. */
export const MESSAGE_CHARS_MAX = 6_000;
const STACK_CHARS_MAX = 12_000;
const CAUSE_CHARS_MAX = 2_000;

const clip = (text: string, charsMax: number) =>
  cleanText(text.length > charsMax ? `${text.slice(0, charsMax)}… (${text.length - charsMax} more)` : text);

/** Anything may be thrown, not only errors, and its getters may throw too. */
export function recordError(thrown: unknown): ErrorRecord {
  try {
    if (!isError(thrown)) return { name: "NonError", message: clip(describe(thrown), MESSAGE_CHARS_MAX) };
    const code = (thrown as { code?: unknown }).code;
    const cause = thrown.cause;
    return {
      name: clip(String(thrown.name), 200),
      message: clip(String(thrown.message), MESSAGE_CHARS_MAX),
      ...(typeof code === "string" || typeof code === "number" ? { code: clip(String(code), 200) } : {}),
      ...(typeof thrown.stack === "string" ? { stack: clip(thrown.stack, STACK_CHARS_MAX) } : {}),
      ...(isError(cause)
        ? { cause: { name: clip(String(cause.name), 200), message: clip(String(cause.message), CAUSE_CHARS_MAX) } }
        : {}),
    };
  } catch {
    return { name: "NonError", message: "An error that could not be read." };
  }
}

/** Errors of other realms (vm contexts, test environments) are not instances of ours, but errors all the same. */
const isError = (value: unknown): value is Error =>
  value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";

function describe(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return String(thrown);
  }
}
