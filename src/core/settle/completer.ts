// Settles jobs inside transactions of their handlers, and asks afterwards whether these committed.

import type { Clock } from "../../base/clock.js";
import type { Queryable } from "../../base/queryable.js";
import { RetryPause } from "../../base/retry-pause.js";
import { checkTransaction } from "../../db/callers-transaction.js";
import type { Database } from "../../db/database.js";
import { isTransient } from "../../db/failures.js";
import type { Claim } from "../job/claim.js";
import type { CompletedAnswer, Completer, Effects } from "../job/effects.js";
import { completeJob, wasCompleted } from "./effect-statements.js";
import type { ProgressKeeper } from "./progress.js";
import { detailOfDone } from "./settle-statements.js";
import type { SettleFormat } from "./verdict-details.js";

export interface JobCompleterOptions {
  readonly progress: ProgressKeeper;
  readonly format: SettleFormat;
  readonly onTrouble: (error: unknown) => void;
}

const RETRY = { firstMs: 100, maxMs: 3_000 };

export class JobCompleter implements Completer {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #options: JobCompleterOptions;

  constructor(db: Database, clock: Clock, options: JobCompleterOptions) {
    this.#db = db;
    this.#clock = clock;
    this.#options = options;
  }

  async complete(claim: Claim, tx: Queryable, result: unknown, effects: Effects | undefined): Promise<CompletedAnswer> {
    const { progress, format } = this.#options;
    checkTransaction(tx, "ctx.complete(tx)");
    // From here on the caller's transaction holds the job: progress of others must not wait behind it.
    await progress.dismiss(claim);
    return completeJob(tx, this.#db.schema, claim, detailOfDone(claim, result, effects, format));
  }

  /** Waits for nobody: a transaction that is still open has not committed. */
  async isSettled(claim: Claim, isOver: () => boolean): Promise<boolean> {
    const pause = new RetryPause(this.#clock, RETRY);
    for (;;) {
      try {
        return await wasCompleted(this.#db, claim);
      } catch (error) {
        if (!isTransient(error) || isOver()) throw error;
        this.#options.onTrouble(error);
        await pause.wait();
      }
    }
  }
}
