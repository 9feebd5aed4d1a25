// Two ways to the database for verdicts. Most go the plain way: it waits for nobody. Where a handler asked for effects, or has settled its job
// in a transaction that may still be open, a settle may have to wait for transactions of callers; those go a way of their own.
import type { Clock } from "../../base/clock.js";
import type { Database } from "../../db/database.js";
import type { Settlement } from "./settle-statements.js";
import { Settler, type SettlerOptions } from "./settler.js";

/** Jobs settled by one transaction, and bytes of effects in it. */
const PLAIN = { groupJobsMax: 2_000, groupBytesMax: Number.POSITIVE_INFINITY };
const PATIENT = { groupJobsMax: 100, groupBytesMax: 4 * 1024 * 1024 };

export class Settlers<Item extends Settlement> {
  readonly #plain: Settler<Item>;
  readonly #patient: Settler<Item>;

  constructor(db: Database, clock: Clock, options: Omit<SettlerOptions<Item>, keyof typeof PLAIN>) {
    this.#plain = new Settler(db, clock, { ...options, ...PLAIN });
    this.#patient = new Settler(db, clock, { ...options, ...PATIENT });
  }

  /** Takes a verdict; the callbacks say what became of it. */
  add(item: Item, mayWait: boolean): void {
    (mayWait ? this.#patient : this.#plain).add(item);
  }

  /** Resolves when everything that was handed in has been answered: what fails the patient way goes the plain one. */
  async drained(): Promise<void> {
    await this.#patient.drained();
    await this.#plain.drained();
  }

  /** Stops repeating. */
  abandon(): void {
    this.#patient.abandon();
    this.#plain.abandon();
  }
}
