// Says that messages are about to be sent, durably: those that begin together share a transaction. Every statement is fenced and safe to
// repeat, so a connection that broke is no drama: it is sent again until the database has answered or the run is over.
import { Batcher } from "../base/batcher.js";
import type { Clock } from "../base/clock.js";
import { RetryPause } from "../base/retry-pause.js";
import type { Claim } from "../core/job/claim.js";
import type { Database } from "../db/database.js";
import { explainFailure } from "../db/explain-failure.js";
import { isTransient } from "../db/failures.js";
import type { Begun, SendKeeper } from "./delivery.js";
import { type BeginAnswer, type BeginItem, beginSends } from "./outbox-statements.js";

const GROUP_MAX = 500;
const GROUPS_IN_FLIGHT_MAX = 2;
const RETRY = { firstMs: 50, maxMs: 3_000 };

type Answer = BeginAnswer & { readonly askedAtMs: number };

export class SendStore implements SendKeeper {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #onTrouble: (error: unknown) => void;
  readonly #batcher: Batcher<BeginItem, Answer>;

  constructor(db: Database, clock: Clock, onTrouble: (error: unknown) => void) {
    this.#db = db;
    this.#clock = clock;
    this.#onTrouble = onTrouble;
    this.#batcher = new Batcher<BeginItem, Answer>({
      itemsMax: GROUP_MAX,
      groupsInFlightMax: GROUPS_IN_FLIGHT_MAX,
      send: (items) => this.#send(items),
    });
  }

  async begin(claim: Claim, run: string, resend: boolean, isOver: () => boolean): Promise<Begun> {
    const pause = new RetryPause(this.#clock, RETRY);
    for (;;) {
      try {
        const { answer, ...begun } = await this.#batcher.add({ claim, run, resend });
        // Somebody has the job locked, to cancel it, say: those beside it did not wait, this one does.
        if (answer !== "busy") return { ...begun, answer };
        if (isOver()) return { ...begun, answer: "lost" };
      } catch (error) {
        if (!isTransient(error) || isOver()) throw explainFailure(error, this.#db.schema);
        this.#onTrouble(error);
      }
      await pause.wait();
    }
  }

  /** After a new beginning under another name a process may have jobs of two lives for a moment: each has its own fence. */
  async #send(items: readonly BeginItem[]): Promise<Answer[]> {
    const answers = new Map<BeginItem, Answer>();
    for (const worker of new Set(items.map(({ claim }) => claim.worker))) {
      const own = items.filter(({ claim }) => claim.worker === worker);
      const askedAtMs = this.#clock.monotonic();
      const begun = await beginSends(this.#db, worker, own);
      for (const [i, item] of own.entries()) answers.set(item, { ...begun[i]!, askedAtMs });
    }
    return items.map((item) => answers.get(item)!);
  }
}
