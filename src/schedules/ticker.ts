// The duty of upkeep that ticks schedules: reckons which ticks are due by the database's clock and has the database enqueue their jobs.
// Any number of workers may do this at once: a tick belongs to whoever moves the schedule on, and there is one row for it.

import type { Database } from "../db/database.js";
import { isTransient } from "../db/failures.js";
import { Cron } from "./cron.js";
import { dueTicks, jitterOf } from "./schedule.js";
import {
  type DueSchedule,
  postponeSchedule,
  readDueSchedules,
  resetSchedule,
  type Ticked,
  tickSchedule,
} from "./schedule-statements.js";

export interface SchedulesOptions {
  readonly onTicked: (schedule: string, ticked: Ticked) => void;
  /** The database's clock went back: the schedule's next tick, computed before, was set to this one. */
  readonly onReset: (schedule: string, next: Date) => void;
  /** This schedule could not be ticked; the others were. */
  readonly onTrouble: (schedule: string, error: unknown) => void;
}

/** Schedules of one round; more of them wait for the next, which follows at once. */
const ROUND_MAX = 100;
const MESSAGE_CHARS_MAX = 1_000;

export class Schedules {
  readonly #db: Database;
  readonly #options: SchedulesOptions;

  constructor(db: Database, options: SchedulesOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** Ticks what is due. Returns how many schedules it moved. */
  async runOnce(): Promise<number> {
    let moved = 0;
    for (const schedule of await readDueSchedules(this.#db, ROUND_MAX)) if (await this.#tick(schedule)) moved++;
    return moved;
  }

  async #reset(schedule: DueSchedule, nextMs: number): Promise<boolean> {
    const isReset = await resetSchedule(this.#db, schedule, nextMs);
    if (isReset) this.#options.onReset(schedule.name, new Date(nextMs));
    return isReset;
  }

  async #tick(schedule: DueSchedule): Promise<boolean> {
    try {
      const { name, nextMs: fromMs, nowMs, missedMax, jitterMs } = schedule;
      const cron = new Cron(schedule.cron, schedule.timezone);
      if (schedule.isAhead) return await this.#reset(schedule, cron.next(nowMs));
      const { ticks, nextMs } = dueTicks(cron, fromMs, nowMs, missedMax);
      const delayed = ticks.map((atMs) => ({ atMs, delayMs: jitterOf(name, atMs, jitterMs) }));
      const ticked = await tickSchedule(this.#db, schedule, delayed, nextMs);
      if (ticked.ticked) this.#options.onTicked(name, ticked);
      return ticked.ticked;
    } catch (error) {
      // The database's own trouble is everybody's, and passes.
      if (isTransient(error)) throw error;
      this.#options.onTrouble(schedule.name, error);
      await postponeSchedule(this.#db, schedule, recordOf(error));
      return true;
    }
  }
}

function recordOf(error: unknown): { code: string; message: string } {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return { code: String(code ?? "FAIRMILL_UNEXPECTED"), message: String(message ?? error).slice(0, MESSAGE_CHARS_MAX) };
}
