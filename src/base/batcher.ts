// Gathers single items into groups without waiting: while one group is on its way, the next one fills. Under no load an item leaves at once and alone;
// under load groups grow by themselves. `Grouper` does that for whoever hears of the end otherwise; `Batcher` answers each item by a promise.

export interface GrouperOptions<Item, Group> {
  readonly groupsInFlightMax: number;
  /** How many of the items that wait go into the next group: at least one. */
  readonly sizeOf: (waiting: readonly Item[]) => number;
  readonly toGroup: (items: Item[]) => Group;
  readonly send: (group: Group) => Promise<void>;
  /** What `send` rejects with: a fault in it, which must not keep the groups behind from being sent. */
  readonly onFault?: (error: unknown) => void;
  /** Nothing waits and nothing is on its way. */
  readonly onIdle?: () => void;
}

export class Grouper<Item, Group> {
  readonly #options: GrouperOptions<Item, Group>;
  #waiting: Item[] = [];
  /** Groups that were made before and are sent before others. */
  readonly #groups: Group[] = [];
  #inFlight = 0;
  #isScheduled = false;

  constructor(options: GrouperOptions<Item, Group>) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#waiting.length + this.#groups.length + this.#inFlight === 0;
  }

  add(item: Item): void {
    this.#waiting.push(item);
    this.#schedule();
  }

  /** Sends this group before the items that wait: one that is sent again, or a part of one. */
  addGroup(group: Group): void {
    this.#groups.push(group);
    this.#schedule();
  }

  /** At the end of this turn of the event loop, so that items which come together leave together. */
  #schedule(): void {
    if (this.#isScheduled || this.#inFlight >= this.#options.groupsInFlightMax) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }

  /** One function for all turns: `#schedule` is called for every item, and would make one each time. */
  readonly #flush = async (): Promise<void> => {
    this.#isScheduled = false;
    if (this.#groups.length + this.#waiting.length === 0) return;
    const group = this.#groups.shift() ?? this.#options.toGroup(this.#gather());
    this.#inFlight++;
    if (this.#groups.length + this.#waiting.length > 0) this.#schedule();
    try {
      await this.#options.send(group);
    } catch (error) {
      this.#options.onFault?.(error);
    }
    this.#inFlight--;
    if (this.#groups.length + this.#waiting.length > 0) this.#schedule();
    else if (this.#inFlight === 0) this.#options.onIdle?.();
  };

  #gather(): Item[] {
    const count = this.#options.sizeOf(this.#waiting);
    if (this.#waiting.length > count) return this.#waiting.splice(0, count);
    const all = this.#waiting;
    this.#waiting = [];
    return all;
  }
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result | Promise<Result>) => void;
  readonly reject: (reason: unknown) => void;
}

export interface BatcherOptions<Item, Result> {
  readonly itemsMax: number;
  readonly groupsInFlightMax: number;
  /** Answers each item by its index: with a value, with an error of its own, or with a promise, which no other item waits for. */
  readonly send: (
    items: readonly Item[],
  ) => Promise<readonly (Result | Promise<Result> | { readonly error: unknown })[]>;
}

export class Batcher<Item, Result extends object> {
  readonly #send: BatcherOptions<Item, Result>["send"];
  readonly #grouper: Grouper<Waiting<Item, Result>, Waiting<Item, Result>[]>;

  constructor({ itemsMax, groupsInFlightMax, send }: BatcherOptions<Item, Result>) {
    this.#send = send;
    this.#grouper = new Grouper({
      groupsInFlightMax,
      sizeOf: (waiting) => Math.min(waiting.length, itemsMax),
      toGroup: (items) => items,
      send: (group) => this.#sendGroup(group),
    });
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => this.#grouper.add({ item, resolve, reject }));
  }

  async #sendGroup(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#send(group.map((waiting) => waiting.item));
      group.forEach(({ resolve, reject }, i) => {
        const result = results[i]!;
        if ("error" in result) reject(result.error);
        else resolve(result);
      });
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
