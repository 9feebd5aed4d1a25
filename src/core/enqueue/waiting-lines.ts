// Jobs that have to wait until another transaction ends: it has locked what they need, a key or a rate or an account. They stand in line behind
// those that need the same, and few lines have a connection at a time, so that no other job has to wait with them.

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
}

export interface WaitingLinesOptions<Item, Answer> {
  /** Lines that are served at a time, each on a connection of its own. */
  readonly linesMax: number;
  readonly itemsMax: number;
  /** Answers each item by its index, and does not reject. */
  readonly send: (items: readonly Item[]) => Promise<readonly Answer[]>;
}

export class WaitingLines<Item, Answer> {
  readonly #options: WaitingLinesOptions<Item, Answer>;
  readonly #lines = new Map<string, Waiting<Item, Answer>[]>();
  /** Lines that wait for a connection, by name. */
  readonly #unserved: string[] = [];
  #served = 0;

  constructor(options: WaitingLinesOptions<Item, Answer>) {
    this.#options = options;
  }

  get size(): number {
    return this.#lines.size;
  }

  has(name: string): boolean {
    return this.#lines.has(name);
  }

  add(name: string, item: Item): Promise<Answer> {
    return new Promise((resolve) => {
      const line = this.#lines.get(name);
      if (line) line.push({ item, resolve });
      else {
        this.#lines.set(name, [{ item, resolve }]);
        this.#unserved.push(name);
        this.#serve();
      }
    });
  }

  #serve(): void {
    while (this.#served < this.#options.linesMax && this.#unserved.length > 0) {
      this.#served++;
      void this.#serveLine(this.#unserved.shift()!);
    }
  }

  async #serveLine(name: string): Promise<void> {
    const line = this.#lines.get(name)!;
    const group = line.splice(0, this.#options.itemsMax);
    const answers = await this.#options.send(group.map(({ item }) => item));
    group.forEach(({ resolve }, i) => {
      resolve(answers[i]!);
    });
    if (line.length > 0) this.#unserved.push(name);
    else this.#lines.delete(name);
    this.#served--;
    this.#serve();
  }
}
