// The time limit of runs that have the same one. They begin in order, so the oldest is always the next to exceed it: one timer serves them all.
import type { Clock } from "../../base/clock.js";

export interface TimedRun {
  readonly startedAtMs: number;
}

export class TimeLimit<Run extends TimedRun> {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onExceeded: (run: Run) => void;
  /** In the order in which they began. */
  readonly #runs = new Set<Run>();
  #forget: (() => void) | undefined;

  constructor(clock: Clock, limitMs: number, onExceeded: (run: Run) => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onExceeded = onExceeded;
  }

  add(run: Run): void {
    this.#runs.add(run);
    this.#forget ??= this.#clock.after(this.#limitMs, () => this.#check());
  }

  delete(run: Run): void {
    if (!this.#runs.delete(run) || this.#runs.size > 0) return;
    // A timer that nobody needs would keep the process alive.
    this.#forget?.();
    this.#forget = undefined;
  }

  #check(): void {
    this.#forget = undefined;
    for (const run of this.#runs) {
      const leftMs = run.startedAtMs + this.#limitMs - this.#clock.monotonic();
      if (leftMs > 0) {
        this.#forget = this.#clock.after(leftMs, () => this.#check());
        return;
      }
      this.#runs.delete(run);
      this.#onExceeded(run);
    }
  }
}
