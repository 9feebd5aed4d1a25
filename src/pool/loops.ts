// What a supervisor does now and then, until it stops: what fails is told, and done again the next time.
import { type Clock, sleep } from "../base/clock.js";

export class Loops {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #trouble: (doing: string, error: unknown) => void;
  readonly #loops: Promise<void>[] = [];

  constructor(clock: Clock, signal: AbortSignal, trouble: (doing: string, error: unknown) => void) {
    this.#clock = clock;
    this.#signal = signal;
    this.#trouble = trouble;
  }

  get isRunning(): boolean {
    return this.#loops.length > 0 && !this.#signal.aborted;
  }

  get hasBegun(): boolean {
    return this.#loops.length > 0;
  }

  repeat(everyMs: number, work: () => Promise<unknown>, doing: string): void {
    this.#loops.push(this.#run(everyMs, work, doing));
  }

  /** After the signal: resolves when no work is under way any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#loops);
  }

  async #run(everyMs: number, work: () => Promise<unknown>, doing: string): Promise<void> {
    for (;;) {
      await sleep(this.#clock, everyMs, this.#signal);
      if (this.#signal.aborted) return;
      await work().catch((error: unknown) => this.#trouble(doing, error));
    }
  }
}
