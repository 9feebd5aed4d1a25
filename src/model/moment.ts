// Moments as callers give them, turned into the text that PostgreSQL reads.
import { ConfigError } from "./errors.js";
import { showValue } from "./show-value.js";

/** A `Date`, an ISO text, or milliseconds since 1970. */
export type Moment = Date | string | number;

export function momentOf(value: Moment, setting: string): string {
  const date = ["string", "number"].includes(typeof value) || value instanceof Date ? new Date(value) : undefined;
  // Years beyond these have six digits and a sign in ISO texts, which PostgreSQL does not read.
  if (date && date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999) return date.toISOString();
  throw new ConfigError(
    setting,
    `${setting}: ${showValue(value)} is not a moment before the year 10000. Pass a Date or an ISO text.`,
  );
}
