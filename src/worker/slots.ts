// The places of a worker: how many jobs each queue may run at once, how many are free, and who waits for one to become free.

export class Slots {
  readonly #max: ReadonlyMap<string, number>;
  readonly #used = new Map<string, number>();
  #freed: (() => void)[] = [];

  constructor(max: ReadonlyMap<string, number>) {
    this.#max = max;
  }

  get used(): number {
    let sum = 0;
    for (const used of this.#used.values()) sum += used;
    return sum;
  }

  get total(): number {
    let sum = 0;
    for (const max of this.#max.values()) sum += max;
    return sum;
  }

  /** How many jobs each queue could take now; queues without a free place are left out. */
  free(): Map<string, number> {
    const free = new Map<string, number>();
    for (const [queue, max] of this.#max) {
      const left = max - (this.#used.get(queue) ?? 0);
      if (left > 0) free.set(queue, left);
    }
    return free;
  }

  take(queue: string): void {
    this.#used.set(queue, (this.#used.get(queue) ?? 0) + 1);
  }

  give(queue: string): void {
    this.#used.set(queue, (this.#used.get(queue) ?? 0) - 1);
    this.notify();
  }

  /** Resolves at the next `give` or `notify`. */
  freed(): Promise<void> {
    return new Promise((resolve) => this.#freed.push(resolve));
  }

  /** Whoever waits shall look again, for another reason than a free place. */
  notify(): void {
    if (this.#freed.length > 0) for (const resolve of this.#freed.splice(0)) resolve();
  }
}
