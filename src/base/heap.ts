// A binary heap whose items know their index in it: what stands in the middle can be taken out or moved as cheaply as the first.

export interface Placed {
  /** Kept by the heap in which the item stands; an item stands in one heap at a time. */
  place: number;
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
    const { place } = item;
    const last = this.#items.pop()!;
    if (last === item) return;
    last.place = place;
    this.#items[place] = last;
    this.moved(last);
  }

  /** What decides the item's order has changed. */
  moved(item: Item): void {
    this.#rise(item, item.place);
    this.#sink(item, item.place);
  }

  #rise(item: Item, from: number): void {
    let place = from;
    while (place > 0) {
      const above = this.#items[(place - 1) >> 1]!;
      if (!this.#isBefore(item, above)) break;
      this.#put(above, place);
      place = (place - 1) >> 1;
    }
    this.#put(item, place);
  }

  #sink(item: Item, from: number): void {
    let place = from;
    for (;;) {
      const left = 2 * place + 1;
      let below = this.#items[left];
      const right = this.#items[left + 1];
      if (below && right && this.#isBefore(right, below)) below = right;
      if (!below || !this.#isBefore(below, item)) break;
      const next = below === right ? left + 1 : left;
      this.#put(below, place);
      place = next;
    }
    this.#put(item, place);
  }

  #put(item: Item, place: number): void {
    this.#items[place] = item;
    item.place = place;
  }
}
