// Figures by name, for names of which there may be any number: a bounded number is kept apart, all others are added up in one.

/** No kind, tenant or queue can be called so: the figures of all others. */
export const REST = "";

export class ByName<Figures extends object> {
  readonly #make: () => Figures;
  readonly #max: number;
  readonly #figures = new Map<string, Figures>();
  #rest: Figures | undefined;

  constructor(make: () => Figures, max: number) {
    this.#make = make;
    this.#max = max;
  }

  /** The figures of this name, or of the rest when there are too many names. */
  of(name: string): Figures {
    const known = this.#figures.get(name);
    if (known) return known;
    if (this.#figures.size >= this.#max) {
      this.#rest ??= this.#make();
      return this.#rest;
    }
    const figures = this.#make();
    this.#figures.set(name, figures);
    return figures;
  }

  /** The `max` largest by name, and the others added up under the name of the rest. */
  largest(
    max: number,
    sizeOf: (figures: Figures) => number,
    add: (to: Figures, from: Figures) => void,
  ): Map<string, Figures> {
    const sorted = [...this.#figures].sort(([, a], [, b]) => sizeOf(b) - sizeOf(a));
    const largest = new Map(sorted.slice(0, max));
    const others = sorted.slice(max).map(([, figures]) => figures);
    if (this.#rest) others.push(this.#rest);
    if (others.length === 0) return largest;
    const rest = this.#make();
    for (const figures of others) add(rest, figures);
    return largest.set(REST, rest);
  }
}
