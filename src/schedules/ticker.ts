// Ticks schedules: computes which ticks are due by the database's clock and has the database enqueue their jobs. Any number of workers may do
// this at once: a tick belongs to the worker that moves the schedule on, and there is one row for it.

import type { Duty } from "../core/upkeep/upkeep.js";
import type { WorkerContext } from "../core/worker/worker-context.js";
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
} from "./schedule-tick-statements.js";

/** What the ticker needs of its worker. */
export type TickerContext = Pick<WorkerContext, "db" | "bus" | "events" | "identity" | "log" | "trouble">;

/** Schedules of one round; more of them wait for the next, which follows at once. */
const ROUND_MAX = 100;
const MESSAGE_CHARS_MAX = 1_000;

/** A round ticks what is due. Upkeep runs it when the database says that something is. */
export class ScheduleTicker implements Duty {
  readonly #context: TickerContext;

  constructor(context: TickerContext) {
    this.#context = context;
  }

  /** Resolves with 0 when it moved a schedule. */
  async runOnce(): Promise<number> {
    return (await this.tickDue()) > 0 ? 0 : Number.POSITIVE_INFINITY;
  }

  /** Ticks what is due. Returns how many schedules it moved. */
  async tickDue(): Promise<number> {
    let moved = 0;
    for (const schedule of await readDueSchedules(this.#context.db, ROUND_MAX)) if (await this.#tick(schedule)) moved++;
    return moved;
  }

  /** The database's clock went back: the next tick, computed before, is set to this one. */
  async #reset(schedule: DueSchedule, nextMs: number): Promise<boolean> {
    const { db, identity, log } = this.#context;
    const isReset = await resetSchedule(db, schedule, nextMs);
    if (isReset)
      log.warn(
        { worker: identity.id, schedule: schedule.name, next: new Date(nextMs).toISOString() },
        "The database's clock went back: the schedule's next tick was computed again",
      );
    return isReset;
  }

  async #tick(schedule: DueSchedule): Promise<boolean> {
    try {
      const { name, nextMs: fromMs, nowMs, missedMax, jitterMs } = schedule;
      const cron = new Cron(schedule.cron, schedule.timezone);
      if (schedule.isAhead) return await this.#reset(schedule, cron.next(nowMs));
      const { ticks, nextMs } = dueTicks(cron, fromMs, nowMs, missedMax);
      const delayed = ticks.map((atMs) => ({ atMs, delayMs: jitterOf(name, atMs, jitterMs) }));
      const ticked = await tickSchedule(this.#context.db, schedule, delayed, nextMs);
      if (ticked.ticked) this.#tell(name, ticked);
      return ticked.ticked;
    } catch (error) {
      // The database's own trouble concerns all schedules, and passes.
      if (isTransient(error)) throw error;
      // This schedule could not be ticked; the others are.
      this.#context.trouble(`ticking schedule "${schedule.name}"`, error);
      await postponeSchedule(this.#context.db, schedule, recordOf(error));
      return true;
    }
  }

  #tell(schedule: string, { jobIds, refusals }: Ticked): void {
    const { bus, events, identity, log } = this.#context;
    for (const { at, error } of refusals)
      log.warn(
        { worker: identity.id, schedule, tick: at.toISOString(), code: error.code, error: error.message },
        "A tick made no job",
      );
    if (jobIds.length > 0) log.debug({ worker: identity.id, schedule, jobs: jobIds }, "Schedule ticked");
    events.emit("ticked", { schedule, jobIds, refused: refusals.length });
    if (jobIds.length > 0) bus.tell("wake", undefined);
  }
}

function recordOf(error: unknown): { code: string; message: string } {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return { code: String(code ?? "FAIRMILL_UNEXPECTED"), message: String(message ?? error).slice(0, MESSAGE_CHARS_MAX) };
}
