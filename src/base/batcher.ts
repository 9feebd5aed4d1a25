// Gathers single requests into groups without waiting: while one group is on its way, the next one fills. Under no load a request
// leaves at once and alone; under load groups grow by themselves.

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result | Promise<Result>) => void;
  readonly reject: (reason: unknown) => void;
}

export interface BatcherOptions<Item, Result> {
  readonly itemsMax: number;
  readonly groupsInFlightMax: number;
  /** Answers each item by its place: with a value, with an error of its own, or with a promise, which nobody else waits for. */
  readonly send: (
    items: readonly Item[],
  ) => Promise<readonly (Result | Promise<Result> | { readonly error: unknown })[]>;
}

export class Batcher<Item, Result extends object> {
  readonly #options: BatcherOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #inFlight = 0;
  #scheduled = false;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  /** Waits for the end of this turn of the loop, so that callers who were woken together leave together. */
  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.#options.groupsInFlightMax) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const group = this.#waiting.splice(0, this.#options.itemsMax);
    if (group.length === 0) return;
    this.#inFlight++;
    if (this.#waiting.length > 0) this.#schedule();
    try {
      const results = await this.#options.send(group.map((waiting) => waiting.item));
      group.forEach(({ resolve, reject }, i) => {
        const result = results[i]!;
        if ("error" in result) reject(result.error);
        else resolve(result);
      });
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      this.#inFlight--;
      if (this.#waiting.length > 0) this.#schedule();
    }
  }
}
