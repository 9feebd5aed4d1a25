// What an answer's headers say of limits: for how long the provider takes no further call. Knows Retry-After, X-RateLimit-* in the shapes that are in use, and
// the RateLimit headers of the IETF draft, old and new. Pure: the time is a parameter.

/** Reads a header; undefined or null: it is not there. */
export type HeaderReader = (name: string) => string | null | undefined;

export interface Limited {
  readonly ms: number;
  /** The header that said so. */
  readonly by: string;
}

/** A provider that names a later time is asked again after this. */
const LIMITED_MS_MAX = 86_400_000;
/** Numbers above are times since 1970, not lengths: seconds, or milliseconds. */
const EPOCH_S_MIN = 1_000_000_000;
const EPOCH_MS_MIN = 1_000_000_000_000;

/** `isRefused`: the answer was a 429 or a 503, so that a remaining allowance says nothing. */
export function limitedBy(read: HeaderReader, nowMs: number, isRefused: boolean): Limited | undefined {
  if (isRefused) {
    const after = retryAfter(read("retry-after"), read("retry-after-ms"), nowMs);
    if (after !== undefined) return { ms: bounded(after), by: "retry-after" };
  }
  let longest: Limited | undefined;
  const add = (by: string, remaining: number | undefined, resetMs: number | undefined) => {
    if (resetMs === undefined || (!isRefused && remaining !== 0) || (remaining !== undefined && remaining > 0)) return;
    if (longest === undefined || resetMs > longest.ms) longest = { ms: bounded(resetMs), by };
  };
  for (const suffix of ["", "-requests", "-tokens"])
    add(
      `x-ratelimit-reset${suffix}`,
      numberIn(read(`x-ratelimit-remaining${suffix}`)),
      resetMs(read(`x-ratelimit-reset${suffix}`), nowMs),
    );
  add("ratelimit-reset", numberIn(read("ratelimit-remaining")), resetMs(read("ratelimit-reset"), nowMs));
  for (const { remaining, reset } of draft(read("ratelimit") ?? "")) add("ratelimit", remaining, reset);
  return longest;
}

const bounded = (ms: number): number => Math.min(Math.max(0, ms), LIMITED_MS_MAX);

function retryAfter(text: string | null | undefined, inMs: string | null | undefined, nowMs: number) {
  const ms = numberIn(inMs);
  if (ms !== undefined) return ms;
  if (text === null || text === undefined) return undefined;
  const seconds = numberIn(text);
  if (seconds !== undefined) return seconds * 1000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : atMs - nowMs;
}

/** Seconds from now, seconds or milliseconds since 1970, a date, or a length like "6m0s" or "20ms". */
function resetMs(text: string | null | undefined, nowMs: number): number | undefined {
  if (text === null || text === undefined) return undefined;
  const number = numberIn(text);
  if (number !== undefined) {
    if (number >= EPOCH_MS_MIN) return number - nowMs;
    return number >= EPOCH_S_MIN ? number * 1000 - nowMs : number * 1000;
  }
  const length = lengthMs(text.trim());
  if (length !== undefined) return length;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : atMs - nowMs;
}

const UNITS_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function lengthMs(text: string): number | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)) sum += Number(count) * UNITS_MS[unit!]!;
  return sum;
}

function numberIn(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

/** `"default";r=0;t=30`, several of them by commas, or the older `limit=10, remaining=0, reset=30`. */
function draft(text: string): { remaining: number | undefined; reset: number | undefined }[] {
  const value = (part: string, name: string) =>
    numberIn(new RegExp(`(?:^|[;,\\s])${name}\\s*=\\s*(\\d+)`).exec(part)?.[1]);
  const inMs = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * 1000);
  if (/remaining\s*=/.test(text)) return [{ remaining: value(text, "remaining"), reset: inMs(value(text, "reset")) }];
  return text
    .split(",")
    .filter((part) => part.includes("="))
    .map((part) => ({ remaining: value(part, "r"), reset: inMs(value(part, "t")) }));
}
