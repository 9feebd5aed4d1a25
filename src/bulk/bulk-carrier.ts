// Carries on bulk actions whose process has gone: every worker that does upkeep looks now and then, and the first that finds one steps it to its end. A step is
// a transaction that moves the cursor with its effect, so a job is acted on once, whichever process steps.
import type { Bus } from "../base/bus.js";
import type { Clock } from "../base/clock.js";
import type { Service } from "../base/service.js";
import type { UpkeepNews } from "../core/upkeep/upkeep.js";
import { explainFailure } from "../db/explain-failure.js";
import { isTransient } from "../db/failures.js";
import type { Session } from "../db/session.js";
import { endBulk, readAbandonedBulk, stepBulk } from "./bulk-statements.js";

/** When a worker looks for the first time and how often then, how long an action must have stood still, and how many jobs one step acts on. */
const CARRY_ON = { firstMs: 20_000, everyMs: 60_000, abandonedMs: 10_000, stepJobs: 500 };
/** A role that may not, or an action that the server does not take, is tried no more for a while. */
const REFUSED_MS = 600_000;
const NOT_ALLOWED = "42501";

export interface CarrierContext {
  readonly db: Session;
  readonly clock: Clock;
  readonly bus: Bus<CarrierNews>;
}

/** Who does the upkeep of the fleet at present: this worker, or another for it. */
type CarrierNews = Pick<UpkeepNews, "upkeep" | "covered">;

export class BulkCarrier implements Service {
  readonly name = "bulk";
  readonly retry = { firstMs: 500, maxMs: 10_000 };
  readonly #context: CarrierContext;
  readonly #pace: typeof CARRY_ON;
  /** The action that this worker carries on. */
  #id: string | undefined;
  #hasBegun = false;
  #isCovered = false;

  constructor(context: CarrierContext, pace: Partial<typeof CARRY_ON> = {}) {
    this.#context = context;
    this.#pace = { ...CARRY_ON, ...pace };
    context.bus.on("upkeep", () => {
      this.#isCovered = false;
    });
    context.bus.on("covered", () => {
      this.#isCovered = true;
    });
  }

  /** One step at most: jobs of the queue go on beside it. */
  async runOnce(): Promise<number> {
    const { db, clock } = this.#context;
    const { firstMs, everyMs, abandonedMs, stepJobs } = this.#pace;
    // Workers that start together should not look together.
    const part = 0.5 + clock.random() / 2;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      return firstMs * part;
    }
    const laterMs = everyMs * part;
    // Of a fleet that sleeps one worker looks for all.
    if (this.#isCovered && this.#id === undefined) return laterMs;
    const id = this.#id ?? (await this.#find(abandonedMs));
    if (id === "refused") return REFUSED_MS;
    if (id === undefined) return laterMs;
    this.#id = undefined;
    try {
      const { state } = await stepBulk(db, id, stepJobs);
      if (state === "running") this.#id = id;
      return state === "running" ? 0 : laterMs;
    } catch (error) {
      if (isTransient(error)) throw error;
      // What the server does not take is not tried by every worker for ever; "resume" goes on behind the cursor.
      const why = explainFailure(error, db.schema);
      await endBulk(db, id, "failed", why instanceof Error ? why.message : "a fault").catch(() => {});
      return REFUSED_MS;
    }
  }

  async #find(abandonedMs: number): Promise<string | undefined | "refused"> {
    try {
      return await readAbandonedBulk(this.#context.db, abandonedMs);
    } catch (error) {
      if ((error as { code?: unknown } | undefined)?.code === NOT_ALLOWED) return "refused";
      throw error;
    }
  }
}
