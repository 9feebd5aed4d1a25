// Says that messages are about to be sent, durably: those that begin together share a transaction. Every statement is fenced and safe to
// repeat, so a connection that broke does no harm: it is sent again until the database has answered or the run is over.
import { Batcher } from "../base/batcher.js";
import type { Clock } from "../base/clock.js";
import { retrying } from "../base/retry.js";
import type { Claim } from "../core/job/claim.js";
import type { Database } from "../db/database.js";
import { explainFailure } from "../db/explain-failure.js";
import { isTransient } from "../db/failures.js";
import type { Begun, SendKeeper } from "./delivery.js";
import { type BeginAnswer, type BeginItem, beginSends } from "./outbox-statements.js";

const GROUP_MAX = 500;
const GROUPS_IN_FLIGHT_MAX = 2;
const RETRY = { firstMs: 50, maxMs: 3_000 };

/** What the store needs of its worker. */
export interface SendStoreContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly trouble: (doing: string, error: unknown) => void;
}

type Answer = BeginAnswer & { readonly askedAtMs: number };

/** Another session has the job locked, to cancel it, say: those beside it did not wait, this one asks again. */
class Busy {
  constructor(readonly begun: Omit<Answer, "answer">) {}
}

export class SendStore implements SendKeeper {
  readonly #context: SendStoreContext;
  readonly #batcher: Batcher<BeginItem, Answer>;

  constructor(context: SendStoreContext) {
    this.#context = context;
    this.#batcher = new Batcher<BeginItem, Answer>({
      itemsMax: GROUP_MAX,
      groupsInFlightMax: GROUPS_IN_FLIGHT_MAX,
      send: (items) => this.#send(items),
    });
  }

  async begin(claim: Claim, run: string, resend: boolean, isOver: () => boolean): Promise<Begun> {
    const { clock, db, trouble } = this.#context;
    const ask = async (): Promise<Begun> => {
      const { answer, ...begun } = await this.#batcher.add({ claim, run, resend });
      if (answer === "busy") throw new Busy(begun);
      return { ...begun, answer };
    };
    try {
      return await retrying(ask, {
        ...{ clock, pauses: RETRY },
        mayRepeat: (error) => !isOver() && (error instanceof Busy || isTransient(error)),
        onTrouble: (error) => error instanceof Busy || trouble("beginning to send", error),
      });
    } catch (error) {
      if (error instanceof Busy) return { ...error.begun, answer: "lost" };
      throw explainFailure(error, db.schema);
    }
  }

  /** After a new beginning under another name a process may have jobs of two lives for a moment: each has its own fence. */
  async #send(items: readonly BeginItem[]): Promise<Answer[]> {
    const answers = new Map<BeginItem, Answer>();
    for (const worker of new Set(items.map(({ claim }) => claim.worker))) {
      const own = items.filter(({ claim }) => claim.worker === worker);
      const askedAtMs = this.#context.clock.monotonic();
      const begun = await beginSends(this.#context.db, worker, own);
      for (const [i, item] of own.entries()) answers.set(item, { ...begun[i]!, askedAtMs });
    }
    return items.map((item) => answers.get(item)!);
  }
}
