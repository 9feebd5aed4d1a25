// Writes verdicts, grouped: while one transaction is on its way to disk, the next group gathers. Every settle is fenced and safe to
// repeat, so an answer that was lost on the way is no drama: the group is sent again until the database has answered.
import { Batcher } from "../model/batcher.js";
import { type Clock, sleep } from "../model/clock.js";
import type { Database } from "../store/database.js";
import { isTransient } from "../store/failures.js";
import { type Settlement, settleJobs } from "../store/settle.js";

export interface SettlerOptions {
  readonly groupJobsMax: number;
  readonly onSettled: (worker: string, ids: readonly string[]) => void;
  readonly onRefused: (worker: string, ids: readonly string[]) => void;
  readonly onTrouble: (error: unknown) => void;
}

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 3_000;

export class Settler {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #options: SettlerOptions;
  readonly #batcher: Batcher<Settlement, { accepted: boolean }>;
  readonly #giveUp = new AbortController();

  constructor(db: Database, clock: Clock, options: SettlerOptions) {
    this.#db = db;
    this.#clock = clock;
    this.#options = options;
    this.#batcher = new Batcher({
      itemsMax: options.groupJobsMax,
      groupsInFlightMax: 2,
      send: (group) => this.#send(group),
    });
  }

  /** Resolves when the verdict is durable (accepted) or was refused because the lease was lost. */
  settle(settlement: Settlement): Promise<{ accepted: boolean }> {
    return this.#batcher.add(settlement);
  }

  /** Resolves when everything that was handed in has been answered. */
  drained(): Promise<void> {
    return this.#batcher.drained();
  }

  /** Stops repeating: what is not written now never will be by us, and recovery takes over. */
  abandon(): void {
    this.#giveUp.abort();
  }

  async #send(group: readonly Settlement[]): Promise<{ accepted: boolean }[]> {
    // Normally one worker; two when this process began a new life while handlers of the old one were still ending.
    const refused = new Set<string>();
    for (const worker of new Set(group.map(({ claim }) => claim.worker))) {
      const part = group.filter(({ claim }) => claim.worker === worker);
      const lost = await this.#write(worker, part);
      for (const id of lost) refused.add(`${worker} ${id}`);
      if (lost.length > 0) this.#options.onRefused(worker, lost);
      this.#options.onSettled(
        worker,
        lost.length === 0
          ? part.map(({ claim }) => claim.id)
          : part.map(({ claim }) => claim.id).filter((id) => !lost.includes(id)),
      );
    }
    return group.map(({ claim }) => ({ accepted: !refused.has(`${claim.worker} ${claim.id}`) }));
  }

  async #write(worker: string, part: readonly Settlement[]): Promise<string[]> {
    for (let delayMs = RETRY_MS_MIN; ; delayMs = Math.min(RETRY_MS_MAX, delayMs * 2)) {
      try {
        return await settleJobs(this.#db, worker, part);
      } catch (error) {
        this.#options.onTrouble(error);
        if (!isTransient(error) || this.#giveUp.signal.aborted) throw error;
        await sleep(this.#clock, delayMs * (0.5 + this.#clock.random()), this.#giveUp.signal);
        if (this.#giveUp.signal.aborted) throw error;
      }
    }
  }
}
