// Whether a queue as a whole is held back, by its own limit or because it is paused: then nothing is claimed from it.
import type { Closing } from "./closed-limits.js";

export class ClosedQueue {
  #opensAtMs = Number.NEGATIVE_INFINITY;
  #isFreeable = false;

  /** Infinite: only `open` opens it. */
  get opensAtMs(): number {
    return this.#opensAtMs;
  }

  close({ untilMs, isFreeable }: Closing): void {
    this.#opensAtMs = untilMs;
    this.#isFreeable = isFreeable;
  }

  open(): void {
    this.#opensAtMs = Number.NEGATIVE_INFINITY;
    this.#isFreeable = false;
  }

  /** A job of the queue has ended. True when that makes a try worthwhile. */
  freed(): boolean {
    if (!this.#isFreeable) return false;
    this.open();
    return true;
  }
}
