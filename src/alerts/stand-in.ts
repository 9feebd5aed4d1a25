// Evaluates alerts while no worker and no tick does: for a server that lives on, beside a fleet that may be gone. Otherwise nothing would notice that nothing runs.
// It goes by the rules on record, which are those of the fleet, and sends to the same channels.
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import type { Database } from "../db/database.js";
import { AlertKeeper } from "./alert-keeper.js";
import type { AlertSettings } from "./alert-settings.js";
import { readStoredRules } from "./alert-statements.js";

/** Workers evaluate every quarter of a minute, or less often where a look takes long: after so long without a round nobody does. */
export const STAND_IN_MS = 2 * 60_000;

export interface StandInContext {
  readonly db: Database;
  readonly log: Logger;
  readonly clock: Clock;
  readonly identity: { readonly id: string };
}

export class AlertStandIn {
  readonly #context: StandInContext;
  readonly #usual: AlertSettings;
  #hasFailed = false;

  /** `usual`: what is evaluated where no worker ever did. */
  constructor(context: StandInContext, usual: AlertSettings) {
    this.#context = context;
    this.#usual = usual;
  }

  /** True: this process evaluated, because no other one had for a while. */
  async runOnce(): Promise<boolean> {
    const { db, log } = this.#context;
    try {
      const stored = await readStoredRules(db);
      const { everyMs } = this.#usual;
      const settings = stored === undefined ? this.#usual : { ...stored, everyMs };
      const keeper = new AlertKeeper(this.#context, settings);
      return (await keeper.evaluate(STAND_IN_MS)) !== undefined;
    } catch (error) {
      // A server that may only read cannot keep what it finds. Said once: it would say so every minute.
      if (!this.#hasFailed) log.warn({ err: error }, "Alerts could not be evaluated in place of the workers");
      this.#hasFailed = true;
      return false;
    }
  }
}
