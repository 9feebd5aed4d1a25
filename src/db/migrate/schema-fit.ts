// Asks once whether the schema fits this library, and remembers that it did: no call after the first pays for it.
import { DatabaseError } from "../../base/errors.js";
import type { Database } from "../database.js";
import { isWorthRepeating } from "../failures.js";
import { NotSentError } from "../not-sent-error.js";
import { checkFit } from "./schema-state.js";

export class SchemaFit {
  readonly #db: Database;
  #asking: Promise<DatabaseError | undefined> | undefined;
  #misfit: DatabaseError | undefined;
  #isKnown = false;
  #isRetold = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** It fits, and was asked. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Throws where it does not fit. Calls at the same time ask together; after a misfit the next call asks again. */
  async check(): Promise<void> {
    if (this.#isKnown) return;
    const misfit = await this.#ask();
    if (misfit) throw misfit;
  }

  /** For calls that must not wait for one of our connections: throws what is known, and asks beside the call. */
  checkBeside(): void {
    if (this.#isKnown) return;
    this.#ask().catch(() => {});
    if (this.#misfit) throw this.#misfit;
  }

  /** It did fit, and something is missing now. Reports once that it does not fit any more. */
  async retell(tell: (misfit: DatabaseError) => void): Promise<void> {
    if (this.#isRetold) return;
    const misfit = await this.#ask().catch(() => undefined);
    if (!misfit || this.#isRetold) return;
    this.#isRetold = true;
    tell(misfit);
  }

  #ask(): Promise<DatabaseError | undefined> {
    this.#asking ??= this.#look().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #look(): Promise<DatabaseError | undefined> {
    try {
      await checkFit(this.#db);
      this.#isKnown = true;
      this.#misfit = undefined;
    } catch (error) {
      // A login that is refused would be refused again.
      if (error instanceof NotSentError && !isWorthRepeating(error)) throw error;
      // What else keeps the database from answering is reported by the call itself, which has its own way to repeat.
      if (!isMisfit(error)) return undefined;
      this.#misfit = error;
    }
    return this.#misfit;
  }
}

const isMisfit = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError &&
  (error.code === "FAIRMILL_NOT_MIGRATED" || error.code === "FAIRMILL_LIBRARY_OUTDATED");
