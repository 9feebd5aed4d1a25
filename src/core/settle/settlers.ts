// Two ways to the database for verdicts. Most go the plain way: it waits for no lock of a caller. Where a handler asked for effects, or has settled its job
// in a transaction that may still be open, a settle may have to wait for transactions of callers; those go a way of their own.
import type { Settlement } from "./settle-statements.js";
import { type SettleContext, type SettleEnds, Settler } from "./settler.js";
import type { DetailList, SettleFormat } from "./verdict-details.js";

/** Jobs settled by one transaction, and bytes of effects in it. */
const PLAIN = { groupJobsMax: 2_000, groupBytesMax: Number.POSITIVE_INFINITY };
const WAITING = { groupJobsMax: 100, groupBytesMax: 4 * 1024 * 1024 };

export class Settlers<Item extends Settlement> {
  readonly #plain: Settler<Item>;
  /** Waits for locks. */
  readonly #waiting: Settler<Item>;
  readonly #slow: DetailList;

  constructor(context: SettleContext, format: SettleFormat, ends: SettleEnds<Item>) {
    this.#slow = format.details.filter(([, writer]) => writer.mayWait === true);
    this.#plain = new Settler(context, format, ends, PLAIN);
    this.#waiting = new Settler(context, format, ends, WAITING);
  }

  /** Takes a verdict; `SettleEnds` gets its outcome. */
  add(item: Item, mayWait: boolean): void {
    const waits = mayWait || this.#slow.some(([name]) => item.verdict[name] !== undefined);
    (waits ? this.#waiting : this.#plain).add(item);
  }

  /** Resolves when everything that was handed in has been answered: what fails the waiting way goes the plain one. */
  async drained(): Promise<void> {
    await this.#waiting.drained();
    await this.#plain.drained();
  }

  /** Stops repeating. */
  abandon(): void {
    this.#waiting.abandon();
    this.#plain.abandon();
  }
}
