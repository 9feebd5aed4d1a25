// Puts calls that cost something on record, durably: before they begin, with what they are expected to cost, and when they are over. Calls that come together
// share a statement. Every write is safe to repeat, so it is sent again until the database has answered.
import { Batcher } from "../base/batcher.js";
import type { Clock } from "../base/clock.js";
import { retrying } from "../base/retry.js";
import type { SpentFacts } from "../budgets/budget-errors.js";
import type { Claim } from "../core/job/claim.js";
import type { Database } from "../db/database.js";
import { isTransient } from "../db/failures.js";
import type { ChargeEnd } from "./call-keeper.js";
import type { ProviderSettings } from "./provider.js";

const GROUP_MAX = 200;
const RETRY = { firstMs: 100, maxMs: 3_000 };
/** A process that cannot write for this many tries leaves the charge as it was begun: it counts as expected. */
const TRIES_MAX = 20;

const CHARGE = "select fairmill.charge_calls_v1($1, $2) as answer";

/** What budgets say of a call that is about to begin, as the database tells it; undefined: nothing. */
export interface BudgetAnswer {
  /** It must not begin: this budget has no room for it. */
  readonly spent?: SpentFacts & { readonly cost: number };
  /** Claims leave jobs of its kind alone from now on. */
  readonly is_parked?: boolean;
  /** It is beyond a soft threshold. */
  readonly soft?: true;
}

interface Change {
  readonly begun?: { readonly id: string } & object;
  readonly ended?: object;
}

export class Charges {
  readonly #clock: Clock;
  readonly #trouble: (doing: string, error: unknown) => void;
  readonly #batcher: Batcher<Change, { readonly says: BudgetAnswer | undefined }>;

  constructor(db: Database, clock: Clock, trouble: (doing: string, error: unknown) => void) {
    this.#clock = clock;
    this.#trouble = trouble;
    this.#batcher = new Batcher<Change, { readonly says: BudgetAnswer | undefined }>({
      itemsMax: GROUP_MAX,
      groupsInFlightMax: 1,
      send: async (changes) => {
        const begun = changes.flatMap((change) => change.begun ?? []);
        const ended = changes.flatMap((change) => change.ended ?? []);
        type Row = { answer: Record<string, BudgetAnswer> };
        const [row] = await db.query<Row>(CHARGE, [JSON.stringify(begun), JSON.stringify(ended)]);
        return changes.map(({ begun: call }) => ({ says: call && row!.answer[call.id] }));
      },
    });
  }

  /** `need`: what the cheapest call would cost that could take its place. What budgets say of it. */
  async begin(
    call: string,
    claim: Claim,
    settings: ProviderSettings,
    cost: number,
    need: number,
  ): Promise<BudgetAnswer | undefined> {
    const { id, tenant, kind, worker } = claim;
    const { name: provider, currency } = settings;
    const begun = { id: call, job_id: id, provider, tenant, kind, worker, currency, cost, need };
    return (await this.#write({ begun })).says;
  }

  async end(call: string, { state, cost }: ChargeEnd): Promise<void> {
    await this.#write({ ended: { id: call, state, cost: cost ?? null } });
  }

  #write(change: Change): Promise<{ readonly says: BudgetAnswer | undefined }> {
    return retrying(() => this.#batcher.add(change), {
      ...{ clock: this.#clock, pauses: RETRY },
      mayRepeat: (error, tries) => isTransient(error) && tries < TRIES_MAX,
      onTrouble: (error) => this.#trouble("recording what calls cost", error),
    });
  }
}
