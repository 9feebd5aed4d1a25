// Writes verdicts, grouped: while one transaction is on its way to disk, the next group gathers. Every settle is fenced and safe to
// repeat, so an answer that was lost on the way is no drama: the group is sent again until the database has answered. A group that the
// database does not take is split until the culprit is alone, and that one is settled without what its handler said.
import { type Clock, sleep } from "../model/clock.js";
import type { Verdict } from "../model/outcome.js";
import type { Database } from "../store/database.js";
import { isTransient } from "../store/failures.js";
import { type Returned, type SealResult, type SettleAnswer, type Settlement, settleJobs } from "../store/settle.js";

export interface SettlerOptions<Item extends Settlement> {
  readonly groupJobsMax: number;
  /** Where results are sealed. Called again when a group is sent again. */
  readonly sealResult?: SealResult | undefined;
  /** These verdicts are durable; `refused` were not heard, because their lease was lost. */
  readonly onSettled: (worker: string, accepted: readonly Item[], refused: readonly Item[]) => void;
  /** These became ready, because settled jobs gave up their places. */
  readonly onReturned: (jobs: readonly Returned[]) => void;
  /** These could not be written and never will be by us: recovery takes over. */
  readonly onAbandoned: (items: readonly Item[], error: unknown) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Transactions on their way at once: while one waits for the disk, another one is prepared. */
const GROUPS_IN_FLIGHT_MAX = 2;
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 3_000;

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
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const group =
      this.#waiting.length > this.#options.groupJobsMax
        ? this.#waiting.splice(0, this.#options.groupJobsMax)
        : this.#waiting;
    if (group === this.#waiting) this.#waiting = [];
    if (group.length === 0) return;
    this.#inFlight++;
    if (this.#waiting.length > 0) this.#schedule();
    try {
      await this.#write(group);
    } catch (error) {
      this.#options.onTrouble(error);
    }
    this.#inFlight--;
    this.#next();
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

  async #repeatedly(worker: string, part: readonly Item[]): Promise<SettleAnswer> {
    let settlements: readonly Settlement[] = part;
    for (let delayMs = RETRY_MS_MIN; ; delayMs = Math.min(RETRY_MS_MAX, delayMs * 2)) {
      try {
        return await settleJobs(this.#db, worker, settlements, this.#options.sealResult);
      } catch (error) {
        this.#options.onTrouble(error);
        if (this.#giveUp.signal.aborted) throw error;
        const isStubborn = !isTransient(error);
        if (isStubborn) {
          if (part.length > 1) throw error;
          // Alone, and still refused: the job's fate matters more than what its handler said about it. After that only time helps
          // (somebody may be changing the schema or the rights). The job is ours until then, but does not hold up the others.
          settlements = part.map(({ claim, verdict }) => ({ claim, verdict: withoutContent(verdict) }));
          this.#inFlight--;
          this.#next();
        }
        await sleep(this.#clock, delayMs * (0.5 + this.#clock.random()), this.#giveUp.signal);
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
