// Writes a row for every interval of a long-running worker in which something happened, and one a minute at least while it lives: one
// statement, none of them for a job. Rows are a courtesy: one that cannot be written is announced as trouble, and its figures are gone.
import type { Clock } from "../base/clock.js";
import type { Database } from "../db/database.js";
import { recordTick } from "./interval-statements.js";
import type { WorkerFigures } from "./worker-figures.js";

export interface IntervalOptions {
  readonly everyMs: number;
  readonly queues: readonly string[];
  readonly worker: () => string;
  /** Jobs in hand now. */
  readonly running: () => number;
  readonly onTrouble: (error: unknown) => void;
}

/** A row at least this often, whatever happens or does not. */
const SILENCE_MS_MAX = 60_000;
/** Other workers' looks at the queues count for a little less than an interval: theirs are not at the same time. */
const LOOK_SHARE = 0.8;

export class IntervalRecorder {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #figures: WorkerFigures;
  readonly #options: IntervalOptions;
  #sinceMs = 0;
  #forget: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(db: Database, clock: Clock, figures: WorkerFigures, options: IntervalOptions) {
    this.#db = db;
    this.#clock = clock;
    this.#figures = figures;
    this.#options = options;
  }

  start(): void {
    this.#sinceMs = this.#clock.monotonic();
    this.#schedule();
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#forget?.();
    await this.#writing;
    if (!this.#figures.now.isEmpty) await this.#write();
  }

  #schedule(): void {
    // Workers that were started together do not write together.
    this.#forget = this.#clock.after(this.#options.everyMs * (0.9 + 0.2 * this.#clock.random()), () => {
      this.#writing = this.runOnce().finally(() => {
        if (!this.#isStopped) this.#schedule();
      });
    });
  }

  /** Writes a row, if there is something to say. */
  async runOnce(): Promise<void> {
    const isDue = this.#clock.monotonic() - this.#sinceMs >= SILENCE_MS_MAX - this.#options.everyMs / 2;
    if (isDue || !this.#figures.now.isEmpty) await this.#write();
  }

  async #write(): Promise<void> {
    const { everyMs, queues, worker, running, onTrouble } = this.#options;
    const figures = this.#figures.take();
    const nowMs = this.#clock.monotonic();
    const intervalMs = Math.round(nowMs - this.#sinceMs);
    this.#sinceMs = nowMs;
    try {
      await recordTick(
        this.#db,
        worker(),
        {
          ...figures.facts(),
          mode: "interval",
          interval_ms: intervalMs,
          tick_duration_ms: Math.min(intervalMs, Math.round(figures.runMs)),
          running: running(),
          looked_at: queues,
        },
        everyMs * LOOK_SHARE,
      );
    } catch (error) {
      onTrouble(error);
    }
  }
}
