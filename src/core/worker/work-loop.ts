// The loop of a worker: demand → claim → run, and sleep when there is nothing to do.
//
//  1. Wait for a free place.          3. Nothing there: say that notifications are welcome, look once more, sleep.
//  2. Claim for the free places.      4. Woken, or time to look although nobody rang: begin again.

import { sleep } from "../../base/clock.js";
import { RetryPause } from "../../base/retry-pause.js";
import { isTransient } from "../../db/failures.js";
import type { Claimer } from "../claim/claimer.js";
import type { Claim } from "../job/claim.js";
import type { Returned } from "../settle/settle-statements.js";
import type { Hands } from "./active-jobs.js";
import { logClaims } from "./claim-log.js";
import type { Incarnation } from "./incarnation.js";
import { Doorbell } from "./wake-signal.js";
import { type Parts, RETRY } from "./worker-context.js";
import { releaseUnknown, setListening } from "./worker-statements.js";

export interface WorkLoopOptions {
  readonly claimer: Claimer;
  readonly hands: Hands;
  readonly incarnation: Incarnation;
  /** Whether notifications arrive. */
  readonly isListening: () => boolean;
  /** From now on notifications are sent to us: whatever was announced before, we did not hear. */
  readonly onListed: () => void;
}

/** Polling when notifications arrive, and when they do not. */
const POLL_MS = { listening: 10_000, deaf: 1_000 } as const;
/** After a failed claim nobody knows what was claimed: look for jobs that are ours without our knowing, for this long. */
const RECONCILE_FOR_MS = 60_000;
const RECONCILE_EVERY_MS = 5_000;
/** Claims in a row that filled every place: from then on the worker does not want to be woken, it looks anyway. */
const BUSY_TURNS = 8;
/** Timers may fire a millisecond early: whoever waits for a moment would come too soon, and again, until it is there. */
const TIMER_MS = 1;

export class WorkLoop {
  readonly #parts: Parts;
  readonly #options: WorkLoopOptions;
  readonly #bell = new Doorbell();
  readonly #stopping = new AbortController();
  #loop: Promise<void> | undefined;
  /** The life that the database lists as wanting notifications. */
  #listed: string | undefined;
  #busyTurns = 0;
  #reconcileUntilMs = 0;
  #reconciledAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: Parts, options: WorkLoopOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#bell.ring();
    this.#options.hands.notify();
    await this.#loop;
  }

  /** Work may have arrived. */
  wake(queue?: string): void {
    this.#options.claimer.markStale(queue);
    this.#bell.ring();
  }

  /** These jobs have ended: what waited for their limits may go on. */
  freed(claims: readonly Claim[]): void {
    if (this.#options.claimer.freed(claims)) this.#bell.ring();
  }

  /** These became ready because jobs of ours ended. */
  returned(jobs: readonly Returned[]): void {
    this.#options.claimer.returned(jobs);
    this.#bell.ring();
  }

  async #run(): Promise<void> {
    const { clock, trouble } = this.#parts;
    const { signal } = this.#stopping;
    const pause = new RetryPause(clock, RETRY);
    while (!signal.aborted) {
      try {
        await this.#options.incarnation.alive();
        if (signal.aborted) return;
        await this.#reconcile();
        await this.#turn();
        pause.succeeded();
      } catch (error) {
        trouble("claiming", error);
        // The claim may have happened although its answer did not arrive.
        this.#reconcileUntilMs = clock.monotonic() + RECONCILE_FOR_MS;
        this.#options.claimer.markStale();
        await pause.wait(signal);
        if (!isTransient(error)) pause.giveItTime();
      }
    }
  }

  async #turn(): Promise<void> {
    const { claimer, hands, incarnation } = this.#options;
    const demand = hands.demand();
    if (demand.size === 0) {
      await hands.changed();
      // Jobs that end together free their places together: one claim for all of them.
      return new Promise((resolve) => setImmediate(resolve));
    }
    let wanted = 0;
    for (const count of demand.values()) wanted += count;

    const worker = incarnation.id;
    // A queue without a free place may have work, too, but no claim can bring it now.
    const claims = this.#mayBring(demand) ? await claimer.claim(worker, demand) : [];
    if (claims.length > 0) {
      this.#parts.events.emit("claimed", { worker, claims });
      logClaims(this.#parts.log, worker, claims);
      hands.take(claims);
    }
    // Whoever stops the loop gives back what has only just arrived, before it starts.
    if (this.#stopping.signal.aborted) return;
    this.#busyTurns = claims.length >= wanted ? this.#busyTurns + 1 : 0;
    if (this.#busyTurns === BUSY_TURNS) await this.#list(false);
    // Whoever enqueued before we were listed did not ring: look once more before going to sleep.
    const isShort = [...demand.keys()].some((queue) => !claimer.hasWork(queue));
    if (isShort && (await this.#list(this.#options.isListening()))) {
      this.#options.onListed();
      return claimer.markStale();
    }
    if (!this.#mayBring(demand)) await this.#sleep();
  }

  #mayBring(demand: ReadonlyMap<string, number>): boolean {
    return [...demand.keys()].some((queue) => this.#options.claimer.hasWork(queue));
  }

  async #sleep(): Promise<void> {
    const { clock, events, settings } = this.#parts;
    const { claimer, hands } = this.#options;
    // A place may have become free while we spoke with the database, and nobody says so twice. From here to `changed` nothing waits.
    const demand = hands.demand();
    if (this.#mayBring(demand)) return;
    events.emit("idle", { worker: this.#options.incarnation.id });
    const pollMs = settings.pollMs ?? (this.#options.isListening() ? POLL_MS.listening : POLL_MS.deaf);
    const nap = new AbortController();
    const spreadMs = pollMs * (0.8 + 0.4 * clock.random());
    // What a limit holds back until a moment is tried then, without a look at everything.
    const opensInMs = Math.ceil(claimer.opensInMs(demand.keys())) + TIMER_MS;
    const timer = sleep(clock, Math.min(spreadMs, opensInMs), nap.signal);
    let isTimeToLook = false;
    const timeToLook = timer.then(() => (isTimeToLook = !nap.signal.aborted && spreadMs <= opensInMs));
    // Where a full queue has more work, a place that becomes free ends the sleep. A queue became full by a claim that brought all it
    // asked for, so its ring is not empty.
    await this.#bell.wait(claimer.hasWork() ? Promise.race([timeToLook, hands.changed()]) : timeToLook);
    nap.abort();
    if (isTimeToLook) claimer.markStale();
  }

  /** Says in the database whether this worker wants notifications. True when that changed to yes. */
  async #list(isWanted: boolean): Promise<boolean> {
    const { id } = this.#options.incarnation;
    if ((this.#listed === id) === isWanted) return false;
    await setListening(this.#parts.db, id, isWanted);
    this.#listed = isWanted ? id : undefined;
    return isWanted;
  }

  /** Gives back what the database says is ours and we know nothing of: the answer to a claim was lost. */
  async #reconcile(): Promise<void> {
    const { clock, db, log } = this.#parts;
    const nowMs = clock.monotonic();
    if (nowMs > this.#reconcileUntilMs || nowMs - this.#reconciledAtMs < RECONCILE_EVERY_MS) return;
    const { id } = this.#options.incarnation;
    const released = await releaseUnknown(db, id, this.#options.hands.idsOf(id));
    this.#reconciledAtMs = nowMs;
    if (released > 0)
      log.warn({ worker: id, released }, "Released jobs whose claim was answered into a broken connection");
  }
}
