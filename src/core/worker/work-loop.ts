// The work of a worker: demand → claim → run, and sleep when there is nothing to do. A service; each round is:
//
//  1. Wait for free capacity.           3. Nothing there: say that notifications are welcome, look once more, sleep.
//  2. Claim for the free capacity.      4. Woken, or time to poll: begin again.

import type { RetryPause } from "../../base/retry.js";
import type { Service } from "../../base/service.js";
import { isTransient } from "../../db/failures.js";
import type { Claimer } from "../claim/claimer.js";
import type { Claim } from "../job/claim.js";
import type { ActiveJobs } from "./active-jobs.js";
import { logClaims } from "./claim-log.js";
import type { Incarnation } from "./incarnation.js";
import { RETRY, type WorkerContext } from "./worker-context.js";
import { releaseUnknown, setListening } from "./worker-statements.js";

/** Polling when notifications arrive, and when they do not. */
const POLL_MS = { listening: 10_000, polling: 1_000 } as const;
const POLL_SPREAD = { least: 0.8, most: 1.2 } as const;
/** After a failed claim it is not known what was claimed: look for jobs that are ours without our knowing, for this long. */
const RECONCILE_FOR_MS = 60_000;
const RECONCILE_EVERY_MS = 5_000;
/** Claims in a row that filled all capacity: from then on the worker does not want to be woken, it looks anyway. */
const BUSY_ROUNDS = 8;
/** Timers may fire a millisecond early: a round that waits for a limit to open would come too soon, and again, until it is open. */
const TIMER_MS = 1;
/** A worker that was just listed looks again after so long, and then after twice as long, while transactions run that may not have seen that it is. */
const DOUBT_MS = 2;
/** Begin the next round without a pause. */
const AT_ONCE = 0;

export class WorkLoop implements Service {
  readonly name = "claiming";
  readonly retry = RETRY;
  readonly #context: WorkerContext;
  readonly #claimer: Claimer;
  readonly #jobs: ActiveJobs;
  readonly #incarnation: Incarnation;
  #wake: () => void = () => {};
  #isListening = false;
  /** The incarnation that the database lists as wanting notifications. */
  #listed: string | undefined;
  /** The sleep of the last round ends with a look at everything. */
  #isPolling = false;
  #rounds = 0;
  #isQuiet = false;
  /** When a worker of the fleet saw that this one's queues are empty. */
  #seenEmptyAtMs = Number.NEGATIVE_INFINITY;
  #busyRounds = 0;
  /** Until transactions have ended that ran when the worker was listed: the next pause before another look. */
  #doubtMs: number | undefined;
  #reconcileUntilMs = Number.NEGATIVE_INFINITY;
  #reconciledAtMs = Number.NEGATIVE_INFINITY;

  constructor(context: WorkerContext, claimer: Claimer, jobs: ActiveJobs, incarnation: Incarnation) {
    this.#context = context;
    this.#claimer = claimer;
    this.#jobs = jobs;
    this.#incarnation = incarnation;
  }

  connect(wake: () => void): void {
    const { bus } = this.#context;
    this.#wake = wake;
    bus.on("wake", (queue) => this.#lookAgain(queue));
    bus.on("wakeLane", (lane) => {
      if (lane === undefined) return this.#lookAgain();
      this.#claimer.arrived(lane.queue, lane);
      wake();
    });
    bus.on("listening", (isListening) => {
      this.#isListening = isListening;
      this.#setQuiet(false);
      // Something may have been missed while notifications did not arrive.
      this.#lookAgain();
    });
    bus.on("rested", ({ emptyQueues }) => {
      const { clock, settings } = this.#context;
      if ([...settings.concurrency.keys()].every((queue) => emptyQueues.includes(queue)))
        this.#seenEmptyAtMs = clock.monotonic();
    });
    bus.on("freed", (claims) => {
      if (this.#claimer.freed(claims)) wake();
    });
    bus.on("returned", (jobs) => {
      this.#claimer.returned(jobs);
      wake();
    });
  }

  async runOnce(signal: AbortSignal, isOnTime: boolean): Promise<number> {
    const coveredMs = isOnTime && this.#isPolling && this.#isQuiet ? this.#coveredMs() : 0;
    if (coveredMs > 0) {
      // Another worker looked: that counts as a look of this one, for what watches its progress.
      this.#context.events.emit("idle", { worker: this.#context.identity.id });
      return coveredMs;
    }
    this.#rounds++;
    // Rounds are many: what need not be awaited is not.
    if (!this.#incarnation.isAlive) await this.#incarnation.alive();
    if (signal.aborted) return AT_ONCE;
    if (isOnTime && this.#isPolling) this.#claimer.markStale();
    this.#isPolling = false;
    if (this.#context.clock.monotonic() <= this.#reconcileUntilMs) await this.#reconcile();
    return this.#claimAndRun(signal);
  }

  failed(error: unknown, pause: RetryPause): void {
    // The claim may have happened although its answer did not arrive.
    this.#reconcileUntilMs = this.#context.clock.monotonic() + RECONCILE_FOR_MS;
    this.#claimer.distrust();
    if (!isTransient(error)) pause.giveItTime();
  }

  stopping(): void {
    this.#jobs.notify();
  }

  #lookAgain(queue?: string): void {
    this.#claimer.markStale(queue);
    this.#wake();
  }

  async #claimAndRun(signal: AbortSignal): Promise<number> {
    const demand = this.#jobs.demand();
    if (demand.size === 0) {
      await this.#jobs.changed();
      // Jobs that end together free their capacity together: one claim for all of them.
      return new Promise((resolve) => setImmediate(resolve, AT_ONCE));
    }
    let wanted = 0;
    for (const count of demand.values()) wanted += count;

    const worker = this.#incarnation.id;
    // A queue without free capacity may have work, too, but no claim can bring it now.
    let late: Claim[] | undefined;
    const take = (claims: Claim[]) => {
      if (signal.aborted) late = claims;
      else this.#take(worker, claims);
    };
    const claims = this.#mayBring(demand) ? await this.#claimer.claim(worker, demand, take) : [];
    if (late) this.#take(worker, late);
    // What has only just arrived is given back by the stop, before it starts.
    if (signal.aborted) return AT_ONCE;
    this.#busyRounds = claims.length >= wanted ? this.#busyRounds + 1 : 0;
    if (this.#busyRounds === BUSY_ROUNDS) await this.#list(false);
    // What was enqueued before the worker was listed sent no notification: look once more before going to sleep.
    const isShort = [...demand.keys()].some((queue) => !this.#claimer.hasWork(queue));
    if (isShort && (await this.#list(this.#isListening))) {
      // Jobs that fall due soon are announced as well.
      this.#context.bus.tell("due", 0);
      this.#claimer.markStale();
      this.#doubtMs = DOUBT_MS;
      return AT_ONCE;
    }
    return this.#mayBring(demand) ? AT_ONCE : this.#sleepMs();
  }

  #take(worker: string, claims: readonly Claim[]): void {
    this.#setQuiet(false);
    this.#context.events.emit("claimed", { worker, claims });
    logClaims(this.#context.log, worker, claims);
    this.#jobs.take(claims);
  }

  #mayBring(demand: ReadonlyMap<string, number>): boolean {
    return [...demand.keys()].some((queue) => this.#claimer.hasWork(queue));
  }

  /** For how long another worker's look is as good as one of this worker's: until its own would come at the latest. */
  #coveredMs(): number {
    const { clock } = this.#context;
    const nowMs = clock.monotonic();
    // Jobs that may be this worker's without its knowing are looked for in its rounds.
    return nowMs <= this.#reconcileUntilMs ? 0 : this.#seenEmptyAtMs + this.#pollMs * POLL_SPREAD.most - nowMs;
  }

  get #pollMs(): number {
    return this.#context.settings.pollMs ?? (this.#isListening ? POLL_MS.listening : POLL_MS.polling);
  }

  /** How long to sleep, unless something wakes the worker. */
  #sleepMs(): number {
    const { clock, events, identity } = this.#context;
    // Capacity may have become free during the last statement, and that is told once. From here to `changed` nothing is awaited.
    const demand = this.#jobs.demand();
    if (this.#mayBring(demand)) return AT_ONCE;
    events.emit("idle", { worker: identity.id });
    const doubtMs = this.#nextDoubtMs();
    this.#setQuiet(this.#listed === this.#incarnation.id && this.#isListening && !Number.isFinite(doubtMs));
    const { least, most } = POLL_SPREAD;
    const spreadMs = Math.min(doubtMs, this.#pollMs * (least + (most - least) * clock.random()));
    // What a limit holds back until a known time is tried then, without a look at everything.
    const opensInMs = Math.ceil(this.#claimer.opensInMs(demand.keys())) + TIMER_MS;
    this.#isPolling = spreadMs <= opensInMs;
    // Where a full queue has more work, capacity that becomes free ends the sleep. A queue became full by a claim that brought all it
    // asked for, so its ring is not empty.
    if (this.#claimer.hasWork()) this.#wakeWhenFree(this.#rounds);
    return Math.min(spreadMs, opensInMs);
  }

  /**
   * An enqueue that looked for workers to wake before this one was listed, and is committed after this one has looked, wakes nobody. It ran during the look:
   * until all that did have ended, the worker looks again.
   */
  #nextDoubtMs(): number {
    if (this.#doubtMs === undefined) return Number.POSITIVE_INFINITY;
    const ms = this.#doubtMs;
    const isOver = !this.#claimer.isInDoubt || ms >= this.#pollMs;
    this.#doubtMs = isOver ? undefined : ms * 2;
    return isOver ? Number.POSITIVE_INFINITY : ms;
  }

  /** Ends the sleep behind this round, and no later one. */
  #wakeWhenFree(round: number): void {
    void this.#jobs.changed().then(() => {
      if (this.#rounds === round) this.#wake();
    });
  }

  #setQuiet(isQuiet: boolean): void {
    if (this.#isQuiet === isQuiet) return;
    this.#isQuiet = isQuiet;
    this.#context.bus.tell("quiet", isQuiet);
  }

  /** Says in the database whether this worker wants notifications. True when that changed to yes. */
  async #list(isWanted: boolean): Promise<boolean> {
    const { id } = this.#incarnation;
    if ((this.#listed === id) === isWanted) return false;
    await setListening(this.#context.db, id, isWanted);
    this.#listed = isWanted ? id : undefined;
    return isWanted;
  }

  /** Gives back what the database says is ours and we know nothing of: the answer to a claim was lost. */
  async #reconcile(): Promise<void> {
    const { clock, db, log } = this.#context;
    const nowMs = clock.monotonic();
    if (nowMs - this.#reconciledAtMs < RECONCILE_EVERY_MS) return;
    const { id } = this.#incarnation;
    const released = await releaseUnknown(db, id, this.#jobs.idsOf(id));
    this.#reconciledAtMs = nowMs;
    if (released > 0)
      log.warn({ worker: id, released }, "Released jobs whose claim was answered into a broken connection");
  }
}
