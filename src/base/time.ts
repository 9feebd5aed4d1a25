// Times as callers give them, turned into the text that PostgreSQL reads.
import { ConfigError } from "./errors.js";
import { showValue } from "./show-value.js";

/** A `Date`, an ISO 8601 text with its zone ("2030-01-31T09:00:00Z", "2030-01-31T10:00+01:00", "2030-01-31": midnight UTC), or milliseconds since 1970. */
export type Moment = Date | string | number;

export function momentOf(value: Moment, setting: string): string {
  const date = dateOf(value);
  // Years beyond these have six digits and a sign in ISO texts, which PostgreSQL does not read.
  if (date && date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999) return date.toISOString();
  throw new ConfigError(
    setting,
    `${setting}: ${showValue(value)} is not a time before the year 10000. Pass a Date, milliseconds since 1970, or an ISO 8601 text with its zone, like "2030-01-31T09:00:00Z".`,
  );
}

function dateOf(value: unknown): Date | undefined {
  if (typeof value === "string") return parseIso(value);
  if (typeof value === "number") return new Date(value);
  try {
    // A copy by what it holds: a subclass may have methods of its own.
    return value instanceof Date ? new Date(Date.prototype.getTime.call(value)) : undefined;
  } catch {
    return undefined;
  }
}

const ISO =
  /^(?<date>\d{4}-\d{2}-(?<day>\d{2}))(?:T(?<time>(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)(?<zone>Z|[+-](?:0\d|1[0-4]):?[0-5]\d))?$/;

/**
 * Not left to Date.parse, which makes something of nearly every text with a number in it: "tomorrow 5" is May 2001 to it. A time of day
 * without a zone is refused: it would mean another time on every machine.
 */
export function parseIso(text: string): Date | undefined {
  const { date, day, time, zone } = ISO.exec(text)?.groups ?? {};
  // The 30th of February would become the 2nd of March.
  if (date === undefined || new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) return undefined;
  if (time === undefined) return new Date(`${date}T00:00:00Z`);
  const hours = time.length === 5 ? `${time}:00` : time;
  return new Date(`${date}T${hours}${zone!.replace(/^([+-]\d\d)(\d\d)$/, "$1:$2")}`);
}
