// When all lanes may be looked at again. A scan walks over whatever dead entries vacuum could not remove, so it may be dear: the dearer it
// was, the longer until the next one.

/** A scan that only makes sure takes at most one part in so many of the time. */
const CHECK_PARTS = 20;
/** One that something asks for, such as a rescan mark: jobs wait for it. */
const WANTED_PARTS = 4;

export class ScanPace {
  #endedAtMs = Number.NEGATIVE_INFINITY;
  #tookMs = 0;

  /** A scan is over; it took so long, all its pages together. */
  scanned(nowMs: number, tookMs: number): void {
    this.#endedAtMs = nowMs;
    this.#tookMs = tookMs;
  }

  /** When one may begin that is wanted. */
  get wantedAtMs(): number {
    return this.#endedAtMs + (WANTED_PARTS - 1) * this.#tookMs;
  }

  /** When one is due that only makes sure. */
  dueAtMs(rescanMs: number): number {
    return this.#endedAtMs + Math.max(rescanMs, (CHECK_PARTS - 1) * this.#tookMs);
  }
}
