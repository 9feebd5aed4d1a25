// A service is a part of a process that does its work in rounds: upkeep, the heartbeat, the work loop. `runOnce` is one round; the loop here drives all
// of them, so starting, waking, failing and stopping are the same everywhere.
import type { Clock } from "./clock.js";
import { RetryPause, type RetryPauseOptions } from "./retry.js";

export interface Service {
  /** What it does, for messages about a round that failed: "upkeep". */
  readonly name: string;
  /** Pauses after rounds that fail. */
  readonly retry: RetryPauseOptions;
  /**
   * One round. Resolves with the milliseconds until the next one; infinite: when it is woken. The signal aborts when the loop is stopped. `isOnTime`: the
   * time that the last round named has passed; false when the service was woken before, or is at its first round.
   */
  runOnce(signal: AbortSignal, isOnTime: boolean): Promise<number>;
  /** Called once, when the loop is made. `wake`: the next round begins in `inMs` at the latest, after a failed round not before its pause is over. */
  connect?(wake: (inMs?: number) => void): void;
  /** A round failed. `pause.giveItTime()` makes the next pauses as long as they get. */
  failed?(error: unknown, pause: RetryPause): void;
  /** The loop has been asked to stop: ends what a round waits for. Called before its end is awaited. */
  stopping?(): void | Promise<void>;
}

export class ServiceLoop {
  readonly #clock: Clock;
  readonly #service: Service;
  readonly #onTrouble: (doing: string, error: unknown) => void;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #wakeAtMs = Number.POSITIVE_INFINITY;
  /** After a failed round nothing begins another one before this time. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #endSleep: (() => void) | undefined;

  constructor(clock: Clock, service: Service, onTrouble: (doing: string, error: unknown) => void) {
    this.#clock = clock;
    this.#service = service;
    this.#onTrouble = onTrouble;
    service.connect?.((inMs) => this.wake(inMs));
  }

  /** `inMs`: the first round begins then, or when the service is woken before. */
  start(inMs = 0): void {
    this.#running ??= this.#run(inMs);
  }

  /** Resolves when the round that is under way has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#endSleep?.();
    await Promise.all([this.#service.stopping?.(), this.#running]);
  }

  /** The next round begins in `inMs` at the latest. A round that is under way may not have seen the reason: another one follows it. */
  wake(inMs = 0): void {
    const atMs = Math.max(this.#notBeforeMs, this.#clock.monotonic() + inMs);
    if (atMs >= this.#wakeAtMs) return;
    this.#wakeAtMs = atMs;
    this.#endSleep?.();
  }

  async #run(firstInMs: number): Promise<void> {
    const { signal } = this.#stop;
    const pause = new RetryPause(this.#clock, this.#service.retry);
    let isOnTime = false;
    if (firstInMs > 0) await this.#sleepUntilDue(firstInMs);
    while (!signal.aborted) {
      // What is announced from here on may not be seen by the round that begins now.
      this.#wakeAtMs = Number.POSITIVE_INFINITY;
      let nextMs: number;
      try {
        nextMs = await this.#service.runOnce(signal, isOnTime);
        pause.succeeded();
      } catch (error) {
        this.#onTrouble(this.#service.name, error);
        nextMs = pause.failed();
        this.#service.failed?.(error, pause);
        this.#notBeforeMs = this.#clock.monotonic() + nextMs;
        this.#wakeAtMs = Math.max(this.#wakeAtMs, this.#notBeforeMs);
      }
      isOnTime = nextMs > 0 && (await this.#sleepUntilDue(nextMs));
    }
  }

  /** Sleeps for this long, or until the service is woken. True: the whole time has passed. */
  async #sleepUntilDue(ms: number): Promise<boolean> {
    const dueAtMs = this.#clock.monotonic() + ms;
    this.#wakeAtMs = Math.min(this.#wakeAtMs, dueAtMs);
    while (!this.#stop.signal.aborted) {
      const leftMs = this.#wakeAtMs - this.#clock.monotonic();
      // The timer is right even where it and the monotonic clock differ: timers may fire a little early.
      if (leftMs <= 0 || (await this.#sleep(leftMs)) === "time") return this.#wakeAtMs === dueAtMs;
    }
    return false;
  }

  #sleep(ms: number): Promise<"time" | "woken"> {
    return new Promise((resolve) => {
      const end = (how: "time" | "woken") => {
        forget?.();
        this.#endSleep = undefined;
        resolve(how);
      };
      const forget = ms === Number.POSITIVE_INFINITY ? undefined : this.#clock.after(Math.ceil(ms), () => end("time"));
      this.#endSleep = () => end("woken");
    });
  }
}
