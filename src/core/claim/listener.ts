// The ear of a worker: one connection that listens for notifications. It only shortens waiting; polling finds the work in any case.
// A connection that is lost is opened again, and whoever listens is told to look, because something may have been missed meanwhile.
// Behind a transaction pooler notifications never arrive: that is noticed before listening where the pooler can be told from a server, else by
// the test at the start, and the worker polls faster instead.
import type { Clock } from "../../base/clock.js";
import { sleep } from "../../base/clock.js";
import { RetryPause } from "../../base/retry-pause.js";
import type { Database } from "../../db/database.js";
import { type Ear, notify, openEar } from "../../db/listen.js";

export interface WakeOptions {
  /** Work arrived in a queue. */
  readonly onQueue: (queue: string) => void;
  /** A scheduled job falls due in so many milliseconds. */
  readonly onSchedule: (ms: number) => void;
  /** Somebody asked to cancel a job of this worker. */
  readonly onCancel: (worker: string) => void;
  /** The ear works again (true) or not (false). */
  readonly onChange: (working: boolean) => void;
  /** The connection goes through a pooler; told once. */
  readonly onPooled: () => void;
  readonly onTrouble: (error: unknown) => void;
}

const ANSWER_MS_MAX = 2_000;
const TEST_EVERY_MS = 30_000;
const REOPEN = { firstMs: 1_000, maxMs: 15_000 };
/** The address may lead elsewhere one day. */
const POOLED_MS = 60_000;
const CANCEL = "!cancel ";
const DUE = "!due ";
const TEST = "!test ";

export class WakeUp {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #options: WakeOptions;
  readonly #stop = new AbortController();
  #ear: Ear | undefined;
  #heard = new Map<string, () => void>();
  #tests = 0;
  #loop: Promise<void> | undefined;
  #working = false;
  #isPooledTold = false;

  constructor(db: Database, clock: Clock, options: WakeOptions) {
    this.#db = db;
    this.#clock = clock;
    this.#options = options;
  }

  get working(): boolean {
    return this.#working;
  }

  start(): void {
    this.#loop = this.#listen();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ear?.close();
    await this.#loop;
  }

  async #listen(): Promise<void> {
    const { signal } = this.#stop;
    const pause = new RetryPause(this.#clock, REOPEN);
    while (!signal.aborted) {
      let isPooled = false;
      try {
        const ear = await openEar(this.#db, (payload) => this.#hear(payload));
        isPooled = ear === "pooled";
        this.#ear = ear === "pooled" ? undefined : ear;
        if (isPooled) this.#tellPooled();
        while (this.#ear && !signal.aborted && (await this.#test())) {
          this.#say(true);
          pause.succeeded();
          await Promise.race([sleep(this.#clock, TEST_EVERY_MS, signal), this.#ear.lost]);
        }
      } catch (error) {
        if (!signal.aborted) this.#options.onTrouble(error);
      }
      this.#say(false);
      await this.#ear?.close();
      if (isPooled) await sleep(this.#clock, POOLED_MS * (1 + this.#clock.random()), signal);
      else await pause.wait(signal);
    }
  }

  #hear(payload: string): void {
    if (payload.startsWith(TEST)) this.#heard.get(payload)?.();
    else if (payload.startsWith(CANCEL)) this.#options.onCancel(payload.slice(CANCEL.length));
    else if (payload.startsWith(DUE)) this.#options.onSchedule(Number(payload.slice(DUE.length)) || 0);
    else this.#options.onQueue(payload);
  }

  /**
   * Sends a notification to ourselves: false when it does not arrive. It leaves over another connection, like everybody's: behind a
   * transaction pooler one over our own would come back although no other ever does.
   */
  async #test(): Promise<boolean> {
    const payload = `${TEST}${process.pid}.${this.#tests++}.${this.#clock.random()}`;
    const stopWaiting = new AbortController();
    let heard = false;
    this.#heard.set(payload, () => {
      heard = true;
      stopWaiting.abort();
    });
    try {
      notify(this.#db, payload).catch(() => stopWaiting.abort());
      await sleep(this.#clock, ANSWER_MS_MAX, AbortSignal.any([stopWaiting.signal, this.#stop.signal]));
      return heard;
    } finally {
      this.#heard.delete(payload);
    }
  }

  #tellPooled(): void {
    if (!this.#isPooledTold) this.#options.onPooled();
    this.#isPooledTold = true;
  }

  #say(working: boolean): void {
    if (this.#working === working) return;
    this.#working = working;
    this.#options.onChange(working);
  }
}
