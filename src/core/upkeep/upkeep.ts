// Upkeep, as every worker does it: promotes due jobs, expires old ones, recovers those of dead workers, keeps the history's
// partitions. One bounded call; the database answers when the next thing falls due, and the next round is then. What only a process can
// compute, ticks of schedules, is done by services of features, run when the database says that something is still due.
import type { Bus } from "../../base/bus.js";
import type { Clock } from "../../base/clock.js";
import type { Service } from "../../base/service.js";
import { ANSWER_MS_MAX, type Database } from "../../db/database.js";
import { isConnectionLoss } from "../../db/failures.js";
import { type Rested, tickUpkeep, type UpkeepReport, type UpkeepSettings } from "./upkeep-statements.js";

/** What upkeep hears and tells. */
export interface UpkeepNews {
  /** Something falls due in this many milliseconds. */
  due: number;
  /** The worker sleeps, and whatever falls due within ten seconds is announced to it (true), or not any more (false). */
  quiet: boolean;
  /** A worker that sleeps has done a round for all. */
  rested: Rested;
  upkeep: UpkeepReport;
  /** A round was left to another worker, which did it; for so long nothing need be done. */
  covered: number;
}

/** What upkeep needs of its worker. */
export interface UpkeepContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly bus: Bus<UpkeepNews>;
  readonly settings: UpkeepSettings & {
    readonly leaseMs?: number;
    readonly concurrency?: ReadonlyMap<string, unknown>;
  };
  readonly identity?: { readonly id: string };
}

/** A service of a feature that does a part of what is due; upkeep runs its rounds. One resolves with 0 when it has done something. */
export interface Duty {
  runOnce(signal: AbortSignal): Promise<number>;
}

/** Look at least this often. */
const EVERY_MS = 5_000;
/**
 * The same while the worker is quiet: what falls due sooner is announced (wake_v1). Together with a lease of the same length as this worker's it is no longer than
 * the lease and five seconds, within which the jobs of a dead worker are taken over.
 */
const QUIET_MS = 10_000;
/**
 * So much later than the worker that did the last round of a sleeping fleet come the others, each at a time of its own: only if that one did not.
 * Well within the five seconds.
 */
const STAND_IN_MS = { least: 500, spread: 1_500 };
/** Two workers that wake for the same due time should not collide every time. */
const SPREAD_MS = 20;
/** Pause before another look at what is due but locked by another session. */
const LOCKED_MS = 100;

export class Upkeep implements Service {
  readonly name = "upkeep";
  /**
   * Whatever is announced meanwhile: an error that lasts must not be repeated with every announcement. Not longer than the five seconds within
   * which jobs of dead workers are taken over once the database answers again.
   */
  readonly retry = { firstMs: 500, maxMs: 3_000 };
  readonly #context: UpkeepContext;
  readonly #duties: readonly Duty[];
  #answerMsMax: number;
  #isQuiet = false;
  /** Until then another worker does what is due. */
  #coveredUntilMs = Number.NEGATIVE_INFINITY;

  constructor(context: UpkeepContext, duties: readonly Duty[] = []) {
    this.#context = context;
    this.#duties = duties;
    this.#answerMsMax = context.db.answerMsMax;
  }

  connect(wake: (inMs: number) => void): void {
    this.#context.bus.on("due", wake);
    this.#context.bus.on("quiet", (isQuiet) => {
      if (this.#isQuiet && !isQuiet) wake(EVERY_MS);
      this.#isQuiet = isQuiet;
    });
    this.#context.bus.on("rested", ({ worker, nextInMs }) => {
      const { clock, identity } = this.#context;
      if (worker === identity?.id) return;
      const laterMs = STAND_IN_MS.least + STAND_IN_MS.spread * clock.random();
      this.#coveredUntilMs = clock.monotonic() + Math.min(nextInMs, this.#everyMs) + laterMs;
    });
  }

  /** Everything that is due now. A round that comes by itself is left to another worker of a fleet that sleeps, if that one has just done it. */
  async runOnce(signal: AbortSignal, isOnTime = false): Promise<number> {
    const coveredMs = this.#coveredUntilMs - this.#context.clock.monotonic();
    if (isOnTime && this.#isQuiet && coveredMs > 0) {
      this.#context.bus.tell("covered", coveredMs);
      return coveredMs;
    }
    return this.follow(await this.#tick(), signal);
  }

  /** What the rest of a round makes of the database's report, for callers that asked for it with other things. */
  async follow(report: UpkeepReport, signal: AbortSignal): Promise<number> {
    const { bus, clock } = this.#context;
    bus.tell("upkeep", report);
    const { promoted, expired, recovered, ended, removed, nextInMs = Number.POSITIVE_INFINITY } = report;
    let hasDone = promoted + expired + recovered + ended + removed > 0;
    if (nextInMs <= 0) for (const duty of this.#duties) if ((await duty.runOnce(signal)) === 0) hasDone = true;
    // Something is due, and yet nothing could be done about it: another session has it locked. Ask again soon, not at once.
    const nextMs = Math.min(this.#everyMs, Math.max(hasDone ? 0 : LOCKED_MS, nextInMs));
    return nextMs > 0 ? nextMs + SPREAD_MS * clock.random() : 0;
  }

  get #everyMs(): number {
    const { leaseMs = 0 } = this.#context.settings;
    return this.#isQuiet ? Math.min(QUIET_MS, EVERY_MS + leaseMs) : EVERY_MS;
  }

  /**
   * It may have much to remove, and then takes its time; or its connection is dead, and then nothing is promoted or recovered until it is
   * repeated. So it is waited for as long as for anything else, and twice as long after each time that this was not enough.
   */
  async #tick(): Promise<UpkeepReport> {
    const { db, settings, identity } = this.#context;
    const resting =
      this.#isQuiet && identity
        ? { worker: identity.id, queues: [...(settings.concurrency?.keys() ?? [])] }
        : undefined;
    try {
      const report = await tickUpkeep(db, settings, this.#answerMsMax, resting);
      this.#answerMsMax = Math.max(db.answerMsMax, this.#answerMsMax / 2);
      return report;
    } catch (error) {
      if (isConnectionLoss(error)) this.#answerMsMax = Math.min(ANSWER_MS_MAX, this.#answerMsMax * 2);
      throw error;
    }
  }
}
