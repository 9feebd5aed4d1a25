// A tick that leaves work behind calls its own address again, so that one call from a cron empties a queue. A header counts how often.
import type { Clock } from "../base/clock.js";

const HOP = "x-fairmill-hop";
/** The handler answers at once; one that does not is not waited for. */
const ANSWER_MS_MAX = 10_000;
/** Ticks that end together do not call together. */
const JITTER_MS = 500;

/** How many calls of itself brought this one about. What is no number counts as too many. */
export function hopOf(headers: Headers): number {
  const hop = headers.get(HOP);
  if (hop === null) return 0;
  return /^\d{1,3}$/.test(hop) ? Number(hop) : Number.POSITIVE_INFINITY;
}

/** The secret goes to the configured address alone: a redirect is an error. */
export async function callAgain(url: string, secret: string, hop: number, clock: Clock): Promise<void> {
  await new Promise<void>((resolve) => clock.after(JITTER_MS * clock.random(), resolve));
  const over = new AbortController();
  const forget = clock.after(ANSWER_MS_MAX, () => over.abort(new Error("the tick that was called did not answer")));
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "error",
      headers: { "x-internal-secret": secret, [HOP]: String(hop) },
      signal: over.signal,
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the tick that was called answered ${response.status}`);
  } finally {
    forget();
  }
}
