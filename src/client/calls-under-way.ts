// Counts the calls of a client that have begun and not ended: closing waits for them, and refuses those that come later.

import { FairmillError } from "../base/errors.js";

export class CallsUnderWay {
  #count = 0;
  #isClosed = false;
  #whenIdle: (() => void)[] = [];

  begin(): void {
    if (this.#isClosed) throw new FairmillError("FAIRMILL_CLOSED", "This client is closed; create another one.");
    this.#count++;
  }

  end(): void {
    this.#count--;
    if (this.#count === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.begin();
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  /** Refuses new calls from now on; resolves when those under way have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#count > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }
}
