// A bell that remembers: ringing it while nobody waits makes the next wait return at once.

export class Doorbell {
  #rung = false;
  #waiting: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#waiting?.();
  }

  /** Resolves when the bell was rung since the last wait, or rings, or `until` resolves. */
  async wait(until: Promise<unknown>): Promise<void> {
    if (!this.#rung) await Promise.race([until, new Promise<void>((resolve) => (this.#waiting = resolve))]);
    this.#rung = false;
    this.#waiting = undefined;
  }
}
