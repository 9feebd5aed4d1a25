// Listens to a worker and counts what it announces. Used for an interval of a long-running worker, and for a tick.
import type { Clock } from "../base/clock.js";
import type { WorkerEmitter } from "../core/worker/worker-events.js";
import { sqlStateOf } from "../db/failures.js";
import { Figures } from "./figures.js";

/** Another session's locks, or its changes, kept the statement from its end: serialization, deadlock, lock timeout. */
const CONTENTION = new Set(["40001", "40P01", "55P03"]);

export class WorkerFigures {
  readonly #clock: Pick<Clock, "random">;
  #figures: Figures;

  constructor(events: WorkerEmitter, clock: Pick<Clock, "random">) {
    this.#clock = clock;
    this.#figures = new Figures(clock);
    events.on("claimed", ({ claims }) => this.#figures.claimed(claims));
    events.on("ended", ({ claim, verdict, durationMs }) => this.#figures.ended(claim, verdict, durationMs));
    events.on("throttled", (throttled) => this.#figures.throttled(throttled));
    events.on("refused", ({ ids }) => {
      this.#figures.counts.lost += ids.length;
    });
    events.on("lost", () => {
      this.#figures.counts.lost++;
    });
    events.on("upkeep", ({ recovered, ended }) => {
      this.#figures.counts.recovered += recovered + ended;
    });
    events.on("trouble", ({ error }) => {
      if (CONTENTION.has(sqlStateOf(error) ?? "")) this.#figures.counts.contended++;
    });
  }

  /** What was counted since `take`. */
  get now(): Figures {
    return this.#figures;
  }

  /** A step of a job of this kind was done. */
  stepped(kind: string, ms: number): void {
    this.#figures.stepped(kind, ms);
  }

  /** What was counted since the last time; from here on it begins again. */
  take(): Figures {
    const figures = this.#figures;
    this.#figures = new Figures(this.#clock);
    return figures;
  }
}
