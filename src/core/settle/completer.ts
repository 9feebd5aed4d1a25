// Settles jobs inside transactions of their handlers. Whether these committed is asked afterwards, over a connection of the worker's own.

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
import { detailOfDone } from "./settle-statements.js";
import type { SettleFormat } from "./verdict-details.js";

/** What the completer asks of the process that has the worker's connections. */
export interface CompleterPorts {
  /** Progress of this job that is not written yet is not worth writing any more. */
  dismissProgress(claim: Claim): Promise<void>;
  isSettled: Completer["isSettled"];
}

const RETRY = { firstMs: 100, maxMs: 3_000 };

export class JobCompleter implements Completer {
  readonly #ports: CompleterPorts;
  readonly #schema: string;
  readonly #format: SettleFormat;

  constructor(ports: CompleterPorts, schema: string, format: SettleFormat) {
    this.#ports = ports;
    this.#schema = schema;
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
    await this.#ports.dismissProgress(claim);
    return completeJob(
      tx,
      this.#schema,
      claim,
      detailOfDone(claim, { verdict: "done", result, ...details }, effects, this.#format),
    );
  }

  isSettled(claim: Claim, isOver: () => boolean): Promise<boolean> {
    return this.#ports.isSettled(claim, isOver);
  }
}

/** Waits for no lock: a transaction that is still open has not committed. */
export function isSettled(
  { db, clock, trouble }: { db: Database; clock: Clock; trouble: (doing: string, error: unknown) => void },
  claim: Claim,
  isOver: () => boolean,
): Promise<boolean> {
  return retrying(() => wasCompleted(db, claim), {
    ...{ clock, pauses: RETRY },
    mayRepeat: (error) => isTransient(error) && !isOver(),
    onTrouble: (error) => trouble("asking whether a job was completed", error),
  });
}
