// Gathers single items into groups without waiting: while one group is on its way, the next one fills. Under no load an item leaves at once and alone,
// where `loneAtOnce` says so in the same turn of the event loop; under load groups grow by themselves. `Grouper` does that for callers that learn of the end otherwise; `Batcher` answers each item by a promise.

export interface GrouperOptions<Item, Group> {
  readonly groupsInFlightMax: number;
  /** How many of the items that wait go into the next group: at least one. */
  readonly sizeOf: (waiting: readonly Item[]) => number;
  readonly toGroup: (items: Item[]) => Group;
  /** May resolve with what is to be done once the group is not on its way any more: who answers callers then lets the next item find nothing on its way. */
  readonly send: (group: Group) => Promise<(() => void) | void>;
  /** What `send` rejects with: a fault in it, which must not keep the groups behind from being sent. */
  readonly onFault?: (error: unknown) => void;
  /**
   * An item that comes when nothing waits and nothing is on its way, behind a group of one, is sent where it stands. Those that come with it leave together at
   * the end of the turn.
   */
  readonly loneAtOnce?: boolean | undefined;
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
  /** The last group was of one item. */
  #isLone = true;

  constructor(options: GrouperOptions<Item, Group>) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#waiting.length + this.#groups.length + this.#inFlight === 0;
  }

  add(item: Item): void {
    const sendsAtOnce = this.#options.loneAtOnce === true && this.#isLone && this.isIdle && !this.#isScheduled;
    this.#waiting.push(item);
    if (sendsAtOnce) void this.#flush();
    else this.#schedule();
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
    let answer: (() => void) | undefined;
    try {
      answer = (await this.#options.send(group)) ?? undefined;
    } catch (error) {
      this.#options.onFault?.(error);
    }
    this.#inFlight--;
    answer?.();
    if (this.#groups.length + this.#waiting.length > 0) this.#schedule();
    else if (this.#inFlight === 0) this.#options.onIdle?.();
  };

  #gather(): Item[] {
    const count = this.#options.sizeOf(this.#waiting);
    this.#isLone = count === 1;
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
  /** As of a Grouper. */
  readonly loneAtOnce?: boolean;
  /** Answers each item by its index: with a value, with an error of its own, or with a promise, which no other item waits for. */
  readonly send: (
    items: readonly Item[],
  ) => Promise<readonly (Result | Promise<Result> | { readonly error: unknown })[]>;
}

export class Batcher<Item, Result extends object> {
  readonly #send: BatcherOptions<Item, Result>["send"];
  readonly #grouper: Grouper<Waiting<Item, Result>, Waiting<Item, Result>[]>;

  constructor({ itemsMax, groupsInFlightMax, loneAtOnce, send }: BatcherOptions<Item, Result>) {
    this.#send = send;
    this.#grouper = new Grouper({
      groupsInFlightMax,
      loneAtOnce,
      sizeOf: (waiting) => Math.min(waiting.length, itemsMax),
      toGroup: (items) => items,
      send: (group) => this.#sendGroup(group),
    });
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => this.#grouper.add({ item, resolve, reject }));
  }

  async #sendGroup(group: readonly Waiting<Item, Result>[]): Promise<() => void> {
    try {
      const results = await this.#send(group.map((waiting) => waiting.item));
      return () => answerAll(group, results);
    } catch (error) {
      return () => {
        for (const { reject } of group) reject(error);
      };
    }
  }
}

function answerAll<Item, Result extends object>(
  group: readonly Waiting<Item, Result>[],
  results: readonly (Result | Promise<Result> | { readonly error: unknown })[],
): void {
  for (let i = 0; i < group.length; i++) {
    const { resolve, reject } = group[i]!;
    const result = results[i];
    if (result === undefined) reject(new TypeError("a group was answered with fewer answers than it has items"));
    else if ("error" in result) reject(result.error);
    else resolve(result);
  }
}
