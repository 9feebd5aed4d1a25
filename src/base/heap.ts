// A binary heap whose items know their index in it: what stands in the middle can be taken out or moved as cheaply as the first.

export interface Placed {
  /** Kept by the heap in which the item stands; an item stands in one heap at a time. */
  index: number;
}

export class Heap<Item extends Placed> {
  readonly #items: Item[] = [];
  readonly #isBefore: (a: Item, b: Item) => boolean;

  constructor(isBefore: (a: Item, b: Item) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  /** In no particular order. */
  [Symbol.iterator](): Iterator<Item> {
    return this.#items[Symbol.iterator]();
  }

  push(item: Item): void {
    this.#items.push(item);
    this.#rise(item, this.#items.length - 1);
  }

  pop(): Item | undefined {
    const first = this.#items[0];
    if (first) this.remove(first);
    return first;
  }

  remove(item: Item): void {
    const { index } = item;
    const last = this.#items.pop()!;
    if (last === item) return;
    last.index = index;
    this.#items[index] = last;
    this.moved(last);
  }

  /** What decides the item's order has changed. */
  moved(item: Item): void {
    this.#rise(item, item.index);
    this.#sink(item, item.index);
  }

  #rise(item: Item, from: number): void {
    let index = from;
    while (index > 0) {
      const above = this.#items[(index - 1) >> 1]!;
      if (!this.#isBefore(item, above)) break;
      this.#put(above, index);
      index = (index - 1) >> 1;
    }
    this.#put(item, index);
  }

  #sink(item: Item, from: number): void {
    let index = from;
    for (;;) {
      const left = 2 * index + 1;
      let below = this.#items[left];
      const right = this.#items[left + 1];
      if (below && right && this.#isBefore(right, below)) below = right;
      if (!below || !this.#isBefore(below, item)) break;
      const next = below === right ? left + 1 : left;
      this.#put(below, index);
      index = next;
    }
    this.#put(item, index);
  }

  #put(item: Item, index: number): void {
    this.#items[index] = item;
    item.index = index;
  }
}
