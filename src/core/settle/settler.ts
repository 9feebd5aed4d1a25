// Writes verdicts, grouped: while one transaction is on its way to disk, the next group gathers. Every settle is fenced and safe to
// repeat, so an answer that was lost on the way is no drama: the group is sent again until the database has answered. A group that the
// database does not take, or takes no decision about again and again, is split until the culprit is alone: nobody waits for it. That one is
// settled without what its handler said, if the database refuses it. Except where the handler asked for effects: without them the job
// must not be settled, so its attempt has failed.
import type { Clock } from "../../base/clock.js";
import type { FairmillError } from "../../base/errors.js";
import { RetryPause } from "../../base/retry-pause.js";
import type { Database } from "../../db/database.js";
import { isServersTrouble, isTransient } from "../../db/failures.js";
import { EffectsFailedError } from "../job/effect-errors.js";
import type { Verdict } from "../job/outcome.js";
import { refusedEffects } from "./effect-statements.js";
import { type Returned, type SettleAnswer, type Settlement, settleJobs } from "./settle-statements.js";
import { bareDetails, type SettleFormat } from "./verdict-details.js";

export interface SettlerOptions<Item extends Settlement> {
  readonly groupJobsMax: number;
  /** Bytes of effects in a group; one job may have more. */
  readonly groupBytesMax: number;
  readonly format: SettleFormat;
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
/** So often a group is sent as it is when a conflict, a lock or a time-out kept it from being written; then it is split. */
const GROUP_TRIES_MAX = 3;

/** Verdicts of one worker that are written together. */
interface Group<Item> {
  readonly items: readonly Item[];
  /** How often it was sent and could not be written. */
  readonly failures: number;
  /** Without what the handler said: the database has refused that. */
  readonly isBare?: boolean;
  /** Between two tries. */
  readonly pause?: RetryPause;
}

export class Settler<Item extends Settlement> {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #options: SettlerOptions<Item>;
  readonly #giveUp = new AbortController();
  #waiting: Item[] = [];
  /** Groups that were made before and are sent again, before others. */
  #groups: Group<Item>[] = [];
  #inFlight = 0;
  /** Groups that wait for another try, and hold up nobody. */
  #resting = 0;
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
    return this.#isDrained ? Promise.resolve() : new Promise((resolve) => this.#drained.push(resolve));
  }

  get #isDrained(): boolean {
    return this.#waiting.length + this.#groups.length + this.#inFlight + this.#resting === 0;
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
    const group = this.#groups.shift() ?? this.#gather();
    if (!group) return;
    this.#inFlight++;
    if (this.#groups.length + this.#waiting.length > 0) this.#schedule();
    try {
      await this.#write(group);
    } catch (error) {
      this.#options.onTrouble(error);
    }
    this.#inFlight--;
    this.#next();
  };

  /** The next group of those that wait; undefined: nobody does. */
  #gather(): Group<Item> | undefined {
    const count = this.#groupSize();
    if (count === 0) return undefined;
    const items = this.#waiting.length > count ? this.#waiting.splice(0, count) : this.#waiting;
    if (items === this.#waiting) this.#waiting = [];
    // Normally one worker; two when this process began a new life while handlers of the old one were still ending.
    const { worker } = items[0]!.claim;
    if (items.every(({ claim }) => claim.worker === worker)) return { items, failures: 0 };
    this.#groups.push({ items: items.filter(({ claim }) => claim.worker !== worker), failures: 0 });
    return { items: items.filter(({ claim }) => claim.worker === worker), failures: 0 };
  }

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
    if (this.#groups.length + this.#waiting.length > 0) this.#schedule();
    else if (this.#isDrained) for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** While the server itself is in trouble the group keeps its way: others would fare no better. */
  async #write(group: Group<Item>): Promise<void> {
    const pause = new RetryPause(this.#clock, RETRY);
    for (;;) {
      try {
        return this.#answered(group, await this.#send(group));
      } catch (error) {
        const refused = refusedEffects(error);
        // Expected: the answer of a limit.
        if (refused) return this.#without(group, refused);
        this.#options.onTrouble(error);
        if (!this.#isGivenUp && !isServersTrouble(error)) return this.#notWritten(group, error);
        if (!this.#isGivenUp) await pause.wait(this.#giveUp.signal);
        if (this.#isGivenUp) return this.#options.onAbandoned(group.items, error);
      }
    }
  }

  #send({ items, isBare }: Group<Item>): Promise<SettleAnswer> {
    const settlements: readonly Settlement[] = isBare
      ? items.map(({ claim, verdict }) => ({ claim, verdict: this.#withoutContent(verdict) }))
      : items;
    return settleJobs(this.#db, items[0]!.claim.worker, settlements, this.#options.format);
  }

  #answered({ items }: Group<Item>, answer: SettleAnswer): void {
    const { onReturned, onSettled } = this.#options;
    if (answer.returned.length > 0) onReturned(answer.returned);
    const { worker } = items[0]!.claim;
    const refused = new Set(answer.refused);
    if (refused.size === 0) return onSettled(worker, items, []);
    onSettled(
      worker,
      items.filter(({ claim }) => !refused.has(claim.id)),
      items.filter(({ claim }) => refused.has(claim.id)),
    );
  }

  /** It is about something that one of them carries, or needs: the others must not suffer for it. */
  #notWritten(group: Group<Item>, error: unknown): void {
    const { items } = group;
    const failures = group.failures + 1;
    const isRefused = !isTransient(error);
    if (items.length > 1 && (isRefused || failures >= GROUP_TRIES_MAX)) {
      const middle = items.length >> 1;
      this.#groups.push({ items: items.slice(0, middle), failures: 0 }, { items: items.slice(middle), failures: 0 });
    } else if (items.length === 1 && isRefused && items[0]!.effects)
      this.#options.onFailed(items[0]!, new EffectsFailedError(error));
    // Alone, and still refused: the job's fate matters more than what its handler said about it. After that only time helps
    // (somebody may be changing the schema or the rights).
    else {
      const pause = group.pause ?? new RetryPause(this.#clock, RETRY);
      void this.#rest({ items, failures, isBare: group.isBare || isRefused, pause }, pause, error);
    }
  }

  /** Sends the group again after a while. It is ours until then, but does not hold up the others. */
  async #rest(group: Group<Item>, pause: RetryPause, error: unknown): Promise<void> {
    this.#resting++;
    await pause.wait(this.#giveUp.signal);
    this.#resting--;
    if (this.#isGivenUp) this.#options.onAbandoned(group.items, error);
    else this.#groups.push(group);
    this.#next();
  }

  /** Limits refused what some of them ask for: their attempts have failed. The others are settled without them. */
  #without({ items }: Group<Item>, failures: ReadonlyMap<string, FairmillError>): void {
    const others: Item[] = [];
    for (const item of items) {
      const failure = failures.get(item.claim.id);
      if (failure) this.#options.onFailed(item, failure);
      else others.push(item);
    }
    if (others.length > 0) this.#groups.push({ items: others, failures: 0 });
  }

  #withoutContent(verdict: Verdict): Verdict {
    return { ...withoutWords(verdict), ...bareDetails(verdict, this.#options.format.details) };
  }

  get #isGivenUp(): boolean {
    return this.#giveUp.signal.aborted;
  }
}

/** The verdict without what a handler returned or threw. */
function withoutWords(verdict: Verdict): Verdict {
  if (verdict.verdict === "done") return { verdict: "done", result: undefined };
  if (verdict.verdict === "cancelled") return { verdict: "cancelled" };
  if (verdict.verdict !== "dead" && verdict.verdict !== "retry") return verdict;
  return { ...verdict, error: { name: "Error", message: "The error could not be kept." } };
}
