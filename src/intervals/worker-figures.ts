// Listens to a worker and counts what it announces. Used for an interval of a long-running worker, and for a tick.
import type { WorkerContext } from "../core/worker/worker-context.js";
import { sqlStateOf } from "../db/failures.js";
import { Figures } from "./figures.js";
// With it comes the topic `stepped`.
import "./watched-steps.js";

/** Another session's locks, or its changes, kept the statement from its end: serialization, deadlock, lock timeout. */
const CONTENTION = new Set(["40001", "40P01", "55P03"]);

export class WorkerFigures {
  readonly #clock: WorkerContext["clock"];
  #figures: Figures;

  constructor({ bus, clock, events }: Pick<WorkerContext, "bus" | "clock" | "events">) {
    this.#clock = clock;
    this.#figures = new Figures(clock);
    events.on("claimed", ({ claims }) => this.#figures.claimed(claims));
    events.on("ended", ({ claim, verdict, durationMs }) => this.#figures.ended(claim, verdict, durationMs));
    events.on("refused", ({ ids }) => {
      this.#figures.counts.lost += ids.length;
    });
    events.on("trouble", ({ error }) => {
      if (CONTENTION.has(sqlStateOf(error) ?? "")) this.#figures.counts.contended++;
    });
    bus.on("throttled", (throttled) => this.#figures.throttled(throttled));
    bus.on("stepped", ({ kind, ms }) => this.#figures.stepped(kind, ms));
    bus.on("lost", () => {
      this.#figures.counts.lost++;
    });
    bus.on("upkeep", ({ recovered, ended }) => {
      this.#figures.counts.recovered += recovered + ended;
    });
  }

  /** What was counted since `take`. */
  get now(): Figures {
    return this.#figures;
  }

  /** What was counted since the last time; from here on it begins again. */
  take(): Figures {
    const figures = this.#figures;
    this.#figures = new Figures(this.#clock);
    return figures;
  }
}
