// Writes verdicts, grouped: while one transaction is on its way to disk, the next group gathers. Every settle is fenced and safe to
// repeat, so an answer that was lost on the way is no drama: the group is sent again until the database has answered. A group that the
// database does not take is split until the culprit is alone, and that one is settled without what its handler said. Except where the handler
// asked for effects: without them the job must not be settled, so its attempt has failed.
import type { Clock } from "../model/clock.js";
import { EffectsFailedError } from "../model/effect-errors.js";
import type { FairmillError } from "../model/errors.js";
import type { Verdict } from "../model/outcome.js";
import { RetryPause } from "../model/retry-pause.js";
import type { Database } from "../store/database.js";
import { refusedEffects } from "../store/effects.js";
import { isTransient } from "../store/failures.js";
import { type Returned, type SealResult, type SettleAnswer, type Settlement, settleJobs } from "../store/settle.js";

export interface SettlerOptions<Item extends Settlement> {
  readonly groupJobsMax: number;
  /** Bytes of effects in a group; one job may have more. */
  readonly groupBytesMax: number;
  /** Where results are sealed. Called again when a group is sent again. */
  readonly sealResult?: SealResult | undefined;
  /** These verdicts are durable; `refused` were not heard, because their lease was lost. */
  readonly onSettled: (worker: string, accepted: readonly Item[], refused: readonly Item[]) => void;
  /** Nothing of this one was written, because its effects were not taken. */
  readonly onFailed: (item: Item, error: FairmillError) => void;
  /** These became ready, because settled jobs gave up their places, or asked for them. */
  readonly onReturned: (jobs: readonly Returned[]) => void;
  /** These could not be written and never will be by us: recovery takes over. */
  readonly onAbandoned: (items: readonly Item[], error: unknown) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Transactions on their way at once: while one waits for the disk, another one is prepared. */
const GROUPS_IN_FLIGHT_MAX = 2;
const RETRY = { firstMs: 100, maxMs: 3_000 };

export class Settler<Item extends Settlement> {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #options: SettlerOptions<Item>;
  readonly #giveUp = new AbortController();
  #waiting: Item[] = [];
  #inFlight = 0;
  #isScheduled = false;
  #drained: (() => void)[] = [];

  constructor(db: Database, clock: Clock, options: SettlerOptions<Item>) {
    this.#db = db;
    this.#clock = clock;
    this.#options = options;
  }

  /** Takes a verdict; the callbacks say what became of it. */
  add(item: Item): void {
    this.#waiting.push(item);
    this.#schedule();
  }

  /** Resolves when everything that was handed in has been answered. */
  drained(): Promise<void> {
    return this.#waiting.length + this.#inFlight === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#drained.push(resolve));
  }

  /** Stops repeating. */
  abandon(): void {
    this.#giveUp.abort();
  }

  /** At the end of this turn of the loop, so that jobs which ended together are settled together. */
  #schedule(): void {
    if (this.#isScheduled || this.#inFlight >= GROUPS_IN_FLIGHT_MAX) return;
    this.#isScheduled = true;
    setImmediate(this.#flush);
  }

  /** One function for all turns: `#schedule` is called for every job, and would make one each time. */
  readonly #flush = async (): Promise<void> => {
    this.#isScheduled = false;
    const count = this.#groupSize();
    if (count === 0) return;
    const group = this.#waiting.length > count ? this.#waiting.splice(0, count) : this.#waiting;
    if (group === this.#waiting) this.#waiting = [];
    this.#inFlight++;
    if (this.#waiting.length > 0) this.#schedule();
    try {
      await this.#write(group);
    } catch (error) {
      this.#options.onTrouble(error);
    }
    this.#inFlight--;
    this.#next();
  };

  /** How many of those that wait go together. */
  #groupSize(): number {
    const { groupJobsMax, groupBytesMax } = this.#options;
    const jobsMax = Math.min(this.#waiting.length, groupJobsMax);
    if (groupBytesMax === Number.POSITIVE_INFINITY) return jobsMax;
    let bytes = 0;
    for (let i = 0; i < jobsMax; i++) {
      bytes += this.#waiting[i]!.effects?.bytes ?? 0;
      if (bytes > groupBytesMax) return Math.max(1, i);
    }
    return jobsMax;
  }

  #next(): void {
    if (this.#waiting.length > 0) this.#schedule();
    else if (this.#inFlight === 0) for (const resolve of this.#drained.splice(0)) resolve();
  }

  async #write(group: readonly Item[]): Promise<void> {
    // Normally one worker; two when this process began a new life while handlers of the old one were still ending.
    const first = group[0]!.claim.worker;
    if (group.every(({ claim }) => claim.worker === first)) return this.#writeOf(first, group);
    for (const worker of new Set(group.map(({ claim }) => claim.worker)))
      await this.#writeOf(
        worker,
        group.filter(({ claim }) => claim.worker === worker),
      );
  }

  async #writeOf(worker: string, part: readonly Item[]): Promise<void> {
    let refused: Set<string>;
    try {
      const answer = await this.#repeatedly(worker, part);
      refused = new Set(answer.refused);
      if (answer.returned.length > 0) this.#options.onReturned(answer.returned);
    } catch (error) {
      if (this.#giveUp.signal.aborted) return this.#options.onAbandoned(part, error);
      const failures = refusedEffects(error);
      if (failures) return this.#writeWithout(worker, part, failures);
      if (part.length === 1) return this.#options.onFailed(part[0]!, new EffectsFailedError(error));
      // Not a matter of patience: the database refuses something that one of them carries. The others must not suffer for it.
      const middle = part.length >> 1;
      await this.#writeOf(worker, part.slice(0, middle));
      return this.#writeOf(worker, part.slice(middle));
    }
    if (refused.size === 0) return this.#options.onSettled(worker, part, []);
    this.#options.onSettled(
      worker,
      part.filter(({ claim }) => !refused.has(claim.id)),
      part.filter(({ claim }) => refused.has(claim.id)),
    );
  }

  /** Limits refused what some of them ask for: their attempts have failed. The others are settled without them. */
  async #writeWithout(
    worker: string,
    part: readonly Item[],
    failures: ReadonlyMap<string, FairmillError>,
  ): Promise<void> {
    const others: Item[] = [];
    for (const item of part) {
      const failure = failures.get(item.claim.id);
      if (failure) this.#options.onFailed(item, failure);
      else others.push(item);
    }
    if (others.length > 0) await this.#writeOf(worker, others);
  }

  async #repeatedly(worker: string, part: readonly Item[]): Promise<SettleAnswer> {
    let settlements: readonly Settlement[] = part;
    const pause = new RetryPause(this.#clock, RETRY);
    for (;;) {
      try {
        return await settleJobs(this.#db, worker, settlements, this.#options.sealResult);
      } catch (error) {
        // Expected: the answer of a limit.
        if (refusedEffects(error)) throw error;
        this.#options.onTrouble(error);
        if (this.#giveUp.signal.aborted) throw error;
        const isStubborn = !isTransient(error);
        if (isStubborn) {
          if (part.length > 1 || part[0]!.effects) throw error;
          // Alone, and still refused: the job's fate matters more than what its handler said about it. After that only time helps
          // (somebody may be changing the schema or the rights). The job is ours until then, but does not hold up the others.
          settlements = part.map(({ claim, verdict }) => ({ claim, verdict: withoutContent(verdict) }));
          this.#inFlight--;
          this.#next();
        }
        await pause.wait(this.#giveUp.signal);
        if (isStubborn) this.#inFlight++;
        if (this.#giveUp.signal.aborted) throw error;
      }
    }
  }
}

/** The verdict without what a handler returned or threw. Whether a message was sent is no content: that stays. */
function withoutContent(verdict: Verdict): Verdict {
  const bare = withoutWords(verdict);
  return verdict.delivery === undefined ? bare : { ...bare, delivery: { outcome: verdict.delivery.outcome } };
}

function withoutWords(verdict: Verdict): Verdict {
  if (verdict.verdict === "done") return { verdict: "done", result: undefined };
  if (verdict.verdict === "cancelled") return { verdict: "cancelled" };
  if (verdict.verdict !== "dead" && verdict.verdict !== "retry") return verdict;
  return { ...verdict, error: { name: "Error", message: "The error could not be kept." } };
}
