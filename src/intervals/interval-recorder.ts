// Writes a row for every interval of a long-running worker in which something happened, and one a minute at least while it lives: one
// statement, none of them for a job. Rows are a courtesy: one that cannot be written is announced as trouble, and its figures are gone.
import type { Service } from "../base/service.js";
import type { WorkerContext } from "../core/worker/worker-context.js";
import { recordTick } from "./interval-statements.js";
import type { WorkerFigures } from "./worker-figures.js";

/** What the recorder needs of its worker. */
export interface IntervalContext extends Pick<WorkerContext, "db" | "clock" | "identity" | "trouble"> {
  readonly settings: { readonly concurrency: ReadonlyMap<string, number>; readonly recordEveryMs: number };
}

/** A row at least this often, whatever happens or does not. */
const SILENCE_MS_MAX = 60_000;
/** Other workers' looks at the queues count for a little less than an interval: theirs are not at the same time. */
const LOOK_SHARE = 0.8;
/** Looks take at most one part in so many of the time: while an old snapshot is open, one walks over all that cannot be removed. */
const LOOK_PARTS = 20;

/** A round writes a row, if there is something to say. */
export class IntervalRecorder implements Service {
  readonly name = "recording an interval";
  /** A round does not fail: what cannot be written is not repeated. */
  readonly retry = { firstMs: 1_000, maxMs: 60_000 };
  readonly #context: IntervalContext;
  readonly #figures: WorkerFigures;
  readonly #jobs: { readonly size: number };
  /** From when on the next row covers; undefined before the first round. */
  #sinceMs: number | undefined;
  /** How long the last row took with which the queues were looked at. */
  #lookMs = 0;

  /** `jobs`: those that are claimed and not settled. */
  constructor(context: IntervalContext, figures: WorkerFigures, jobs: { readonly size: number }) {
    this.#context = context;
    this.#figures = figures;
    this.#jobs = jobs;
  }

  /** Called once more when the loop has stopped, to write what is left. */
  async runOnce(): Promise<number> {
    const { clock, settings } = this.#context;
    const nowMs = clock.monotonic();
    const sinceMs = this.#sinceMs ?? nowMs;
    this.#sinceMs = sinceMs;
    const isDue = nowMs - sinceMs >= SILENCE_MS_MAX - settings.recordEveryMs / 2;
    if (isDue || !this.#figures.now.isEmpty) {
      this.#sinceMs = nowMs;
      await this.#write(Math.round(nowMs - sinceMs));
    }
    // Workers that were started together do not write together.
    return settings.recordEveryMs * (0.9 + 0.2 * clock.random());
  }

  async #write(intervalMs: number): Promise<void> {
    const { clock, db, identity, settings, trouble } = this.#context;
    const figures = this.#figures.take();
    const row = {
      ...figures.facts(),
      mode: "interval",
      interval_ms: intervalMs,
      tick_duration_ms: Math.min(intervalMs, Math.round(figures.runMs)),
      running: this.#jobs.size,
      looked_at: [...settings.concurrency.keys()],
    } as const;
    try {
      const fromMs = clock.monotonic();
      const lookEveryMs = Math.max(settings.recordEveryMs * LOOK_SHARE, LOOK_PARTS * this.#lookMs);
      const { ready } = await recordTick(db, identity.id, row, lookEveryMs);
      if (ready !== undefined) this.#lookMs = clock.monotonic() - fromMs;
    } catch (error) {
      trouble(this.name, error);
    }
  }
}
