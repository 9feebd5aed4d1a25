// How many short jobs have ended lately: so many may be claimed ahead where the settings do not say. They start without a round trip, and wait about as
// long as these took; longer jobs are never counted, so nothing is claimed ahead of them.

/** A job that took longer is not short. */
const SHORT_MS = 10;
/** Counted are those of this stretch of time and of the one before it. */
const STRETCH_MS = 10;

export class ShortJobs {
  #stretch = 0;
  #now = 0;
  #before = 0;

  ended(durationMs: number, nowMs: number): void {
    if (durationMs > SHORT_MS) return;
    this.#move(nowMs);
    this.#now++;
  }

  lately(nowMs: number): number {
    if (this.#now + this.#before === 0) return 0;
    this.#move(nowMs);
    return this.#now + this.#before;
  }

  #move(nowMs: number): void {
    const stretch = Math.floor(nowMs / STRETCH_MS);
    if (stretch === this.#stretch) return;
    this.#before = stretch === this.#stretch + 1 ? this.#now : 0;
    this.#now = 0;
    this.#stretch = stretch;
  }
}
