// How an error is kept: plain JSON of bounded size that PostgreSQL always accepts. Settling must never fail on content.
import { cleanText } from "./json-content.js";

export interface ErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: { readonly name: string; readonly message: string };
}

export const MESSAGE_CHARS_MAX = 8_000;
export const STACK_CHARS_MAX = 16_000;

const clip = (text: string, charsMax: number) =>
  cleanText(text.length > charsMax ? `${text.slice(0, charsMax)}… (${text.length - charsMax} more)` : text);

/** Anything may be thrown, not only errors, and its getters may throw too. */
export function recordError(thrown: unknown): ErrorRecord {
  try {
    if (!(thrown instanceof Error)) return { name: "NonError", message: clip(describe(thrown), MESSAGE_CHARS_MAX) };
    const code = (thrown as { code?: unknown }).code;
    const cause = thrown.cause;
    return {
      name: clip(String(thrown.name), 200),
      message: clip(String(thrown.message), MESSAGE_CHARS_MAX),
      ...(typeof code === "string" || typeof code === "number" ? { code: clip(String(code), 200) } : {}),
      ...(typeof thrown.stack === "string" ? { stack: clip(thrown.stack, STACK_CHARS_MAX) } : {}),
      ...(cause instanceof Error
        ? { cause: { name: clip(String(cause.name), 200), message: clip(String(cause.message), MESSAGE_CHARS_MAX) } }
        : {}),
    };
  } catch {
    return { name: "NonError", message: "An error that could not be read." };
  }
}

function describe(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return String(thrown);
  }
}
