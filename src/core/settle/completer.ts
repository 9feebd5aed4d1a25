// Settles jobs inside transactions of their handlers, and asks afterwards whether these committed.

import type { Clock } from "../../base/clock.js";
import type { Queryable } from "../../base/queryable.js";
import { retrying } from "../../base/retry.js";
import { checkTransaction } from "../../db/callers-transaction.js";
import type { Database } from "../../db/database.js";
import { isTransient } from "../../db/failures.js";
import type { Claim } from "../job/claim.js";
import type { CompletedAnswer, Completer, Effects } from "../job/effects.js";
import type { VerdictDetails } from "../job/outcome.js";
import { completeJob, wasCompleted } from "./effect-statements.js";
import type { ProgressKeeper } from "./progress.js";
import { detailOfDone } from "./settle-statements.js";
import type { SettleFormat } from "./verdict-details.js";

/** What the completer needs of its worker. */
export interface CompleterContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly trouble: (doing: string, error: unknown) => void;
}

const RETRY = { firstMs: 100, maxMs: 3_000 };

export class JobCompleter implements Completer {
  readonly #context: CompleterContext;
  readonly #progress: ProgressKeeper;
  readonly #format: SettleFormat;

  constructor(context: CompleterContext, progress: ProgressKeeper, format: SettleFormat) {
    this.#context = context;
    this.#progress = progress;
    this.#format = format;
  }

  async complete(
    claim: Claim,
    tx: Queryable,
    result: unknown,
    effects: Effects | undefined,
    details: VerdictDetails | undefined,
  ): Promise<CompletedAnswer> {
    checkTransaction(tx, "ctx.complete(tx)");
    // From here on the caller's transaction holds the job: progress of other jobs must not wait behind it.
    await this.#progress.dismiss(claim);
    return completeJob(
      tx,
      this.#context.db.schema,
      claim,
      detailOfDone(claim, { verdict: "done", result, ...details }, effects, this.#format),
    );
  }

  /** Waits for no lock: a transaction that is still open has not committed. */
  isSettled(claim: Claim, isOver: () => boolean): Promise<boolean> {
    const { db, clock, trouble } = this.#context;
    return retrying(() => wasCompleted(db, claim), {
      ...{ clock, pauses: RETRY },
      mayRepeat: (error) => isTransient(error) && !isOver(),
      onTrouble: (error) => trouble("asking whether a job was completed", error),
    });
  }
}
