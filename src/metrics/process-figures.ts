// What a worker's process uses: told with its heartbeats.
import type { Clock } from "../base/clock.js";

export class ProcessFigures {
  readonly #clock: Clock;
  #last: { readonly atMs: number; readonly cpuMs: number };
  #cpu = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#last = this.#now();
  }

  /** `cpu`: of one core, since the last time this was asked, at least a second ago. */
  read(): { readonly rssBytes: number; readonly cpu: number } {
    const now = this.#now();
    const passedMs = now.atMs - this.#last.atMs;
    if (passedMs >= 1_000) {
      this.#cpu = Math.round(((now.cpuMs - this.#last.cpuMs) / passedMs) * 1000) / 1000;
      this.#last = now;
    }
    return { rssBytes: process.memoryUsage.rss(), cpu: this.#cpu };
  }

  #now() {
    const { user, system } = process.cpuUsage();
    return { atMs: this.#clock.monotonic(), cpuMs: (user + system) / 1000 };
  }
}
