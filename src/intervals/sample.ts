// A sample of fixed size of however many values come by, each as likely to be in it as any other.
import type { Clock } from "../base/clock.js";

export class Sample<T> {
  readonly #clock: Pick<Clock, "random">;
  readonly #max: number;
  readonly #values: T[] = [];
  #seen = 0;

  constructor(clock: Pick<Clock, "random">, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  get values(): readonly T[] {
    return this.#values;
  }

  add(value: T): void {
    this.#seen++;
    if (this.#values.length < this.#max) {
      this.#values.push(value);
      return;
    }
    const index = Math.floor(this.#clock.random() * this.#seen);
    if (index < this.#max) this.#values[index] = value;
  }
}
