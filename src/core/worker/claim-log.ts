// What the log says of claims: every job that was claimed, and what limits held back.

import type { Clock } from "../../base/clock.js";
import type { Logger } from "../../base/log.js";
import type { Throttled } from "../claim/closed-limit.js";
import type { Claim } from "../job/claim.js";

/** Ids on one line: a claim of thousands is several lines, none of them longer than log collectors take. */
const LINE_JOBS_MAX = 500;

export function logClaims(log: Logger, worker: string, claims: readonly Claim[]): void {
  if (log.isLevelEnabled?.("info") === false) return;
  const count = claims.length;
  for (let from = 0; from < count; from += LINE_JOBS_MAX) {
    const jobs = claims.slice(from, from + LINE_JOBS_MAX).map(({ id }) => id);
    log.info(count > LINE_JOBS_MAX ? { worker, count, from, jobs } : { worker, count, jobs }, "Jobs claimed");
  }
}

/** A limit that holds jobs back all the time is named at once, then this often. */
const EVERY_MS = 60_000;
/** Limits that are remembered; beyond it the oldest is forgotten, and may be named earlier. */
const LIMITS_MAX = 1_000;

/** Names the limits that hold jobs back: not once a claim, which may be hundreds of times a second. */
export class ThrottleLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** By limit, in the order in which they were told: when, and how many claims it held back since. */
  readonly #told = new Map<string, { atMs: number; claims: number }>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  add(worker: string, { queue, closed, rateLimited }: Throttled): void {
    if (this.#log.isLevelEnabled?.("info") === false) return;
    for (const { scope, name, why, openInMs } of closed)
      this.#tell(`${scope} ${name} ${why}`, (claims) => ({
        ...{ worker, skipped_throttle: true, queue, scope, name, limit: why, claims },
        ...(openInMs === null ? {} : { openInMs: Math.round(openInMs) }),
      }));
    for (const { tenant, count } of rateLimited)
      this.#tell(`key ${queue} ${tenant}`, (claims) => ({
        ...{ worker, skipped_throttle: true, queue, scope: "key", tenant, limit: "rate", claims, rateLimited: count },
      }));
  }

  #tell(limit: string, facts: (claims: number) => object): void {
    const nowMs = this.#clock.monotonic();
    const last = this.#told.get(limit);
    if (last && nowMs - last.atMs < EVERY_MS) {
      last.claims++;
      return;
    }
    this.#told.delete(limit);
    if (this.#told.size >= LIMITS_MAX) this.#told.delete(this.#told.keys().next().value!);
    this.#told.set(limit, { atMs: nowMs, claims: 0 });
    this.#log.info(facts((last?.claims ?? 0) + 1), "Jobs are held back by a limit");
  }
}
