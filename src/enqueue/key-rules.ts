// Tells the database what limits a definition has, before its first job is enqueued by this client: the database keeps them for
// everybody. Once per definition; whoever started last is right.
import type { Database } from "../store/database.js";
import { type Ruled, setKeyRules } from "../store/limits.js";

export class KeyRules {
  readonly #db: Database;
  readonly #told = new WeakMap<Ruled, Promise<void>>();
  readonly #known = new WeakSet<Ruled>();

  constructor(db: Database) {
    this.#db = db;
  }

  knows(definition: Ruled): boolean {
    return definition.limits === undefined || this.#known.has(definition);
  }

  async tell(definition: Ruled): Promise<void> {
    if (this.knows(definition)) return;
    const under = this.#told.get(definition) ?? setKeyRules(this.#db, [definition]);
    this.#told.set(definition, under);
    try {
      await under;
      this.#known.add(definition);
    } catch (error) {
      this.#told.delete(definition);
      throw error;
    }
  }
}
