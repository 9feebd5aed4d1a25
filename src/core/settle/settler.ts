// Writes verdicts, grouped: while one transaction is on its way to disk, the next group gathers. Every settle is fenced and safe to
// repeat, so an answer that was lost on the way does no harm: the group is sent again until the database has answered. A group that the
// database does not take, or takes no decision about again and again, is split until the culprit is alone: no other job waits for it. That one is
// settled without what its handler said, if the database refuses it. Except where the handler asked for effects: without them the job
// must not be settled, so its attempt has failed.
import { Grouper } from "../../base/batcher.js";
import type { Clock } from "../../base/clock.js";
import type { FairmillError } from "../../base/errors.js";
import { RetryPause } from "../../base/retry.js";
import type { Database } from "../../db/database.js";
import { isServersTrouble, isTransient } from "../../db/failures.js";
import { EffectsFailedError } from "../job/effect-errors.js";
import type { Verdict } from "../job/outcome.js";
import { refusedEffects } from "./effect-statements.js";
import { type Returned, type SettleAnswer, type Settlement, settleJobs } from "./settle-statements.js";
import { bareDetails, type SettleFormat } from "./verdict-details.js";

/** What the settler needs of its worker. */
export interface SettleContext {
  readonly db: Database;
  readonly clock: Clock;
  readonly trouble: (doing: string, error: unknown) => void;
}

/** What becomes of verdicts. */
export interface SettleEnds<Item extends Settlement> {
  /** These verdicts are durable; `refused` were not taken, because their lease was lost. */
  onSettled(worker: string, accepted: readonly Item[], refused: readonly Item[]): void;
  /** Nothing of this one was written, because its effects were not taken. */
  onEffectsRefused(item: Item, error: FairmillError): void;
  /** These became ready, because settled jobs gave up their slots, or asked for them. */
  onReturned(jobs: readonly Returned[]): void;
  /** These could not be written and never will be by this process: recovery takes over. */
  onAbandoned(items: readonly Item[]): void;
}

export interface GroupLimits {
  readonly groupJobsMax: number;
  /** Bytes of effects in a group; one job may have more. */
  readonly groupBytesMax: number;
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
  readonly #context: SettleContext;
  readonly #format: SettleFormat;
  readonly #ends: SettleEnds<Item>;
  readonly #grouper: Grouper<Item, Group<Item>>;
  readonly #giveUp = new AbortController();
  /** Groups that wait for another try, and hold up no other. */
  #resting = 0;
  #drained: (() => void)[] = [];

  constructor(context: SettleContext, format: SettleFormat, ends: SettleEnds<Item>, limits: GroupLimits) {
    this.#context = context;
    this.#format = format;
    this.#ends = ends;
    this.#grouper = new Grouper({
      groupsInFlightMax: GROUPS_IN_FLIGHT_MAX,
      sizeOf: (waiting) => groupSize(waiting, limits),
      toGroup: (items) => this.#toGroup(items),
      send: (group) => this.#write(group),
      onFault: (error) => this.#trouble(error),
      onIdle: () => this.#checkDrained(),
    });
  }

  /** Takes a verdict; `SettleEnds` hears what became of it. */
  add(item: Item): void {
    this.#grouper.add(item);
  }

  /** Resolves when everything that was handed in has been answered. */
  drained(): Promise<void> {
    return this.#isDrained ? Promise.resolve() : new Promise((resolve) => this.#drained.push(resolve));
  }

  get #isDrained(): boolean {
    return this.#grouper.isIdle && this.#resting === 0;
  }

  #checkDrained(): void {
    if (this.#isDrained) for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** Stops repeating. */
  abandon(): void {
    this.#giveUp.abort();
  }

  /** Normally of one worker; of two when this process began a new life while handlers of the old one were still ending. */
  #toGroup(items: readonly Item[]): Group<Item> {
    const { worker } = items[0]!.claim;
    if (items.every(({ claim }) => claim.worker === worker)) return { items, failures: 0 };
    this.#grouper.addGroup({ items: items.filter(({ claim }) => claim.worker !== worker), failures: 0 });
    return { items: items.filter(({ claim }) => claim.worker === worker), failures: 0 };
  }

  /** While the server itself is in trouble the group keeps its turn: others would fare no better. */
  async #write(group: Group<Item>): Promise<void> {
    let pause: RetryPause | undefined;
    for (;;) {
      try {
        return this.#answered(group, await this.#send(group));
      } catch (error) {
        const refused = refusedEffects(error);
        // Expected: the answer of a limit.
        if (refused) return this.#without(group, refused);
        this.#trouble(error);
        if (!this.#isGivenUp && !isServersTrouble(error)) return this.#notWritten(group, error);
        pause ??= new RetryPause(this.#context.clock, RETRY);
        if (!this.#isGivenUp) await pause.wait(this.#giveUp.signal);
        if (this.#isGivenUp) return this.#abandoned(group, error);
      }
    }
  }

  #send({ items, isBare }: Group<Item>): Promise<SettleAnswer> {
    const settlements: readonly Settlement[] = isBare
      ? items.map(({ claim, verdict }) => ({ claim, verdict: this.#withoutContent(verdict) }))
      : items;
    return settleJobs(this.#context.db, items[0]!.claim.worker, settlements, this.#format);
  }

  #answered({ items }: Group<Item>, answer: SettleAnswer): void {
    if (answer.returned.length > 0) this.#ends.onReturned(answer.returned);
    const { worker } = items[0]!.claim;
    const refused = new Set(answer.refused);
    if (refused.size === 0) return this.#ends.onSettled(worker, items, []);
    this.#ends.onSettled(
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
      this.#grouper.addGroup({ items: items.slice(0, middle), failures: 0 });
      this.#grouper.addGroup({ items: items.slice(middle), failures: 0 });
    } else if (items.length === 1 && isRefused && items[0]!.effects)
      this.#ends.onEffectsRefused(items[0]!, new EffectsFailedError(error));
    // Alone, and still refused: the job's fate matters more than what its handler said about it. After that only time helps
    // (somebody may be changing the schema or the rights).
    else {
      const pause = group.pause ?? new RetryPause(this.#context.clock, RETRY);
      void this.#rest({ items, failures, isBare: group.isBare || isRefused, pause }, pause, error);
    }
  }

  /** Sends the group again after a while. It is ours until then, but does not hold up the others. */
  async #rest(group: Group<Item>, pause: RetryPause, error: unknown): Promise<void> {
    this.#resting++;
    await pause.wait(this.#giveUp.signal);
    this.#resting--;
    if (this.#isGivenUp) this.#abandoned(group, error);
    else this.#grouper.addGroup(group);
    this.#checkDrained();
  }

  /** Limits refused what some of them ask for: their attempts have failed. The others are settled without them. */
  #without({ items }: Group<Item>, failures: ReadonlyMap<string, FairmillError>): void {
    const others: Item[] = [];
    for (const item of items) {
      const failure = failures.get(item.claim.id);
      if (failure) this.#ends.onEffectsRefused(item, failure);
      else others.push(item);
    }
    if (others.length > 0) this.#grouper.addGroup({ items: others, failures: 0 });
  }

  #abandoned({ items }: Group<Item>, error: unknown): void {
    this.#trouble(error);
    this.#ends.onAbandoned(items);
  }

  #trouble(error: unknown): void {
    this.#context.trouble("settling", error);
  }

  #withoutContent(verdict: Verdict): Verdict {
    return { ...withoutWords(verdict), ...bareDetails(verdict, this.#format.details) };
  }

  get #isGivenUp(): boolean {
    return this.#giveUp.signal.aborted;
  }
}

/** How many of those that wait go together. */
function groupSize(waiting: readonly Settlement[], { groupJobsMax, groupBytesMax }: GroupLimits): number {
  const jobsMax = Math.min(waiting.length, groupJobsMax);
  if (groupBytesMax === Number.POSITIVE_INFINITY) return jobsMax;
  let bytes = 0;
  for (let i = 0; i < jobsMax; i++) {
    bytes += waiting[i]!.effects?.bytes ?? 0;
    if (bytes > groupBytesMax) return Math.max(1, i);
  }
  return jobsMax;
}

/** The verdict without what a handler returned or threw. */
function withoutWords(verdict: Verdict): Verdict {
  if (verdict.verdict === "done") return { verdict: "done", result: undefined };
  if (verdict.verdict === "cancelled") return { verdict: "cancelled" };
  if (verdict.verdict !== "dead" && verdict.verdict !== "retry") return verdict;
  return { ...verdict, error: { name: "Error", message: "The error could not be kept." } };
}
