// What a process remembers of the caches: bounded, the least recently used entry leaves first.

interface Remembered {
  readonly value: unknown;
  readonly untilMs: number;
}

export class Memory {
  /** In the order of use. */
  readonly #entries = new Map<string, Remembered>();
  /** Rises with everything that is forgotten: what was asked for before may be outdated. */
  generation = 0;

  /** `{ value }`, because undefined is no answer. */
  get(key: string, nowMs: number): { readonly value: unknown } | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (entry.untilMs <= nowMs) return undefined;
    this.#entries.set(key, entry);
    return entry;
  }

  set(key: string, value: unknown, untilMs: number, entriesMax: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, untilMs });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entriesMax) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: string): void {
    this.generation++;
    this.#entries.delete(key);
  }

  clear(): void {
    this.generation++;
    this.#entries.clear();
  }
}
