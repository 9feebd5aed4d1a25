// Upkeep, as every worker does it: promotes due jobs, expires old ones, recovers those of dead workers, keeps the history's
// partitions. One bounded call; the database answers when the next thing falls due, and the loop sleeps until then. What only this side
// can reckon, ticks of schedules, is a duty of its own, done when the database says that something is still due.
import { type Clock, sleep } from "../../base/clock.js";
import { RetryPause } from "../../base/retry-pause.js";
import { ANSWER_MS_MAX, type Database } from "../../db/database.js";
import { isConnectionLoss } from "../../db/failures.js";
import { tickUpkeep, type UpkeepReport, type UpkeepSettings } from "./upkeep-statements.js";

/** What only a process can compute, such as the ticks of schedules. Returns how much it has done. */
export interface Duty {
  runOnce(): Promise<number>;
}

export interface UpkeepOptions extends UpkeepSettings {
  /** Done when the database says that something is still due. */
  readonly duties: readonly Duty[];
  /** Look at least this often. */
  readonly everyMs: number;
  readonly onReport: (report: UpkeepReport) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Two workers that wake for the same due moment should not collide every time. */
const SPREAD_MS = 20;
/** Pause before another look at what is due but locked by somebody. */
const LOCKED_MS = 100;
/**
 * Between tries of what failed, whatever is announced meanwhile: an error that lasts must not be repeated with every announcement. Not
 * longer than the five seconds within which jobs of dead workers are taken over once the database answers again.
 */
const RETRY = { firstMs: 500, maxMs: 3_000 };

export class Upkeep {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #options: UpkeepOptions;
  readonly #stop = new AbortController();
  #answerMsMax: number;
  #nap: AbortController | undefined;
  #wakeAtMs = Number.POSITIVE_INFINITY;
  /** After a failure nothing wakes it before this moment. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #loop: Promise<void> | undefined;

  constructor(db: Database, clock: Clock, options: UpkeepOptions) {
    this.#db = db;
    this.#clock = clock;
    this.#options = options;
    this.#answerMsMax = db.answerMsMax;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#nap?.abort();
    await this.#loop;
  }

  /** One round: everything that is due now. Returns when the next round should be, in milliseconds. */
  async runOnce(): Promise<number> {
    const report = await this.#tick();
    this.#options.onReport(report);
    const { promoted, expired, recovered, ended, removed, nextInMs = Number.POSITIVE_INFINITY } = report;
    let done = promoted + expired + recovered + ended + removed;
    if (nextInMs <= 0) for (const duty of this.#options.duties) done += await duty.runOnce();
    // Something is due, and yet nothing could be done about it: somebody holds it locked. Ask again soon, not at once.
    const soonestMs = done === 0 ? LOCKED_MS : 0;
    return Math.min(this.#options.everyMs, Math.max(soonestMs, nextInMs));
  }

  /**
   * It may have much to remove, and then takes its time; or nobody hears it any more, and then nothing is promoted or recovered until it is
   * repeated. So it is waited for as long as for anything else, and twice as long after each time that this was not enough.
   */
  async #tick(): Promise<UpkeepReport> {
    try {
      const report = await tickUpkeep(this.#db, this.#options, this.#answerMsMax);
      this.#answerMsMax = Math.max(this.#db.answerMsMax, this.#answerMsMax / 2);
      return report;
    } catch (error) {
      if (isConnectionLoss(error)) this.#answerMsMax = Math.min(ANSWER_MS_MAX, this.#answerMsMax * 2);
      throw error;
    }
  }

  /** Something falls due in `ms`: do not sleep longer than that. */
  dueIn(ms: number): void {
    const atMs = Math.max(this.#notBeforeMs, this.#clock.monotonic() + ms);
    if (atMs >= this.#wakeAtMs) return;
    this.#wakeAtMs = atMs;
    this.#nap?.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const pause = new RetryPause(this.#clock, RETRY);
    while (!signal.aborted) {
      // What is announced from here on may not be seen by the round that begins now.
      this.#wakeAtMs = Number.POSITIVE_INFINITY;
      let nextMs = this.#options.everyMs;
      try {
        nextMs = await this.runOnce();
        pause.succeeded();
      } catch (error) {
        this.#options.onTrouble(error);
        nextMs = pause.failed();
        this.#notBeforeMs = this.#clock.monotonic() + nextMs;
        this.#wakeAtMs = Math.max(this.#wakeAtMs, this.#notBeforeMs);
      }
      if (nextMs > 0) nextMs += SPREAD_MS * this.#clock.random();
      this.#wakeAtMs = Math.min(this.#wakeAtMs, this.#clock.monotonic() + nextMs);
      await this.#sleepUntilDue();
    }
  }

  /** The moment may be moved forward while we sleep. */
  async #sleepUntilDue(): Promise<void> {
    for (;;) {
      const leftMs = this.#wakeAtMs - this.#clock.monotonic();
      if (leftMs <= 0 || this.#stop.signal.aborted) return;
      this.#nap = new AbortController();
      await sleep(this.#clock, leftMs, this.#nap.signal);
    }
  }
}
