// Reports to the database what limits a definition has, before its first job is enqueued by this client: the database keeps them for
// all processes. Once per definition; the rule that was reported last is right.
import type { RuleTeller } from "../core/enqueue/make-job.js";
import type { Database, Queryable } from "../db/database.js";
import { type Ruled, setKeyRules, tellKeyRuleIn } from "./limit-statements.js";

export class KeyRules implements RuleTeller {
  readonly #db: Database;
  readonly #reported = new WeakMap<Ruled, Promise<void>>();
  readonly #known = new WeakSet<Ruled>();
  /** When a transaction reported it for the first time, by the database's clock. */
  readonly #firstToldAt = new WeakMap<Ruled, string>();

  constructor(db: Database) {
    this.#db = db;
  }

  knows(definition: Ruled): boolean {
    return (definition.limits === undefined && definition.uses === undefined) || this.#known.has(definition);
  }

  async tell(definition: Ruled): Promise<void> {
    if (this.knows(definition)) return;
    const under = this.#reported.get(definition) ?? setKeyRules(this.#db, [definition]);
    this.#reported.set(definition, under);
    try {
      await under;
      this.#known.add(definition);
    } catch (error) {
      this.#reported.delete(definition);
      throw error;
    }
  }

  /**
   * For a transaction of the caller, which has one connection and may have the last one of its pool: everything goes over that. The rule
   * comes and goes with the transaction, so it is reported again by the next one until it is in force.
   */
  within(tx: Queryable): RuleTeller {
    const tell = async (definition: Ruled) => {
      if (this.knows(definition)) return;
      const answer = await tellKeyRuleIn(tx, this.#db.schema, definition, this.#firstToldAt.get(definition));
      this.#firstToldAt.set(definition, answer.firstToldAt);
      if (answer.isSettled) this.#known.add(definition);
    };
    return { knows: (definition) => this.knows(definition), tell };
  }
}
