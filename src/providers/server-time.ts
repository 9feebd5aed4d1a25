// What the database's clock says by the clock of this process: learned from round trips, of which the shortest is the most exact.
import type { Clock } from "../base/clock.js";

/** Clocks drift: after this time a longer round trip is believed again. */
const BEST_MS = 30_000;

export class ServerTime {
  readonly #clock: Clock;
  /** Server's time minus ours. */
  #offsetMs = 0;
  #tripMs = Number.POSITIVE_INFINITY;
  #learnedAtMs = Number.NEGATIVE_INFINITY;
  #usualTripMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A question left at `sentMs`, and the server answered at `serverMs` by its clock. */
  learn(sentMs: number, serverMs: number): void {
    const nowMs = this.#clock.monotonic();
    const tripMs = nowMs - sentMs;
    this.#usualTripMs += (tripMs - this.#usualTripMs) / 8;
    if (tripMs > this.#tripMs && nowMs - this.#learnedAtMs < BEST_MS) return;
    this.#tripMs = tripMs;
    this.#learnedAtMs = nowMs;
    this.#offsetMs = serverMs - (sentMs + tripMs / 2);
  }

  /** How long an answer is on its way, about. */
  get answerMs(): number {
    return this.#usualTripMs;
  }

  /** A time of the server, as `clock.monotonic` will say it. */
  toLocal(serverMs: number): number {
    return serverMs - this.#offsetMs;
  }
}
