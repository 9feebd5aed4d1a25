// Hands results of steps to the handler one at a time, each in a turn of the event loop of its own, those of earlier runs in the order in which they
// were finished then. So a handler whose order depends on nothing but its input and its steps makes its calls in the same order again,
// side by side or not, and the position of a call tells whether its code changed.
import type { KnownStep } from "./step.js";

interface Delivery {
  readonly order: number;
  readonly hand: () => void;
}

export class StepResults {
  /** Of the steps that earlier runs finished. */
  readonly #orders = new Map<string, number>();
  #waiting: Delivery[] = [];
  #added = 0;

  learn(steps: readonly KnownStep[]): void {
    for (const step of steps) if (step.finished) this.#orders.set(step.name, this.#orders.size);
  }

  /** Resolves when its turn has come. */
  add<T>(name: string, make: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const hand = () => {
        try {
          resolve(make());
        } catch (error) {
          reject(error);
        }
      };
      this.#waiting.push({ order: this.#orders.get(name) ?? this.#orders.size + this.#added++, hand });
    });
  }

  /** Hands out the first of those that wait; false: none does. */
  handNext(): boolean {
    if (this.#waiting.length === 0) return false;
    const next = this.#waiting.reduce((first, other) => (other.order < first.order ? other : first));
    this.#waiting = this.#waiting.filter((delivery) => delivery !== next);
    next.hand();
    return true;
  }
}
