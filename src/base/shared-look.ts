// One look for all callers that wait for the end of something: a client may have thousands of callers that wait for results, and the database is
// asked by a few statements a round, whatever their number.
//
//  1. Callers join the next round, which begins as soon as the one before it is answered.
//  2. A round asks about every id that is due, and about those that are nearly due: each is looked at ever less often, up to twice a second.
//  3. A caller whose time is up gets that answer from the last look, at that time.
import { type Clock, sleep } from "./clock.js";

export interface SharedLookOptions<Seen> {
  /** Ids of one statement. */
  readonly idsMax: number;
  /** What there is to see of each of them; without those that do not exist. */
  readonly look: (ids: readonly string[]) => Promise<ReadonlyMap<string, Seen>>;
  /** There is nothing more to wait for. */
  readonly isOver: (seen: Seen) => boolean;
}

interface Waiter<Seen> {
  readonly endMs: number;
  /** The look that was under way when it came: what that one sees may be older than what the caller knows. */
  readonly after: number;
  readonly tell: (seen: Seen | undefined) => void;
  readonly fail: (error: unknown) => void;
}

/** All callers that wait for one id. */
interface Watched<Seen> {
  readonly waiters: Set<Waiter<Seen>>;
  pauseMs: number;
  dueMs: number;
}

const PAUSE_MS = { first: 10, max: 500, factor: 1.5 };
/** Between two rounds: at least so much, and as long as the last one took, so that a slow database is left alone half of the time. */
const ROUND_MS_MIN = 10;

export class SharedLook<Seen> {
  readonly #clock: Clock;
  readonly #options: SharedLookOptions<Seen>;
  readonly #watched = new Map<string, Watched<Seen>>();
  #isRunning = false;
  /** Looks that have begun. */
  #looks = 0;
  #nap: AbortController | undefined;

  constructor(clock: Clock, options: SharedLookOptions<Seen>) {
    this.#clock = clock;
    this.#options = options;
  }

  /** What was seen when it was over or the time was up; undefined: there is no such thing. Looks once at least. */
  async wait(id: string, timeoutMs: number, signal?: AbortSignal): Promise<Seen | undefined> {
    signal?.throwIfAborted();
    const nowMs = this.#clock.monotonic();
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#leave(id, waiter);
        reject(signal?.reason);
      };
      const ended =
        <Value>(then: (value: Value) => void) =>
        (value: Value) => {
          signal?.removeEventListener("abort", abort);
          then(value);
        };
      const waiter: Waiter<Seen> = {
        endMs: nowMs + timeoutMs,
        after: this.#looks,
        tell: ended(resolve),
        fail: ended(reject),
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#join(id, waiter, nowMs);
    });
  }

  #join(id: string, waiter: Waiter<Seen>, nowMs: number): void {
    const watched = this.#watched.get(id) ?? { waiters: new Set(), pauseMs: PAUSE_MS.first, dueMs: nowMs };
    watched.waiters.add(waiter);
    // A caller that comes now may know that it has just ended.
    watched.pauseMs = PAUSE_MS.first;
    watched.dueMs = nowMs;
    this.#watched.set(id, watched);
    if (this.#isRunning) this.#nap?.abort();
    else void this.#run();
  }

  #leave(id: string, waiter: Waiter<Seen>): void {
    const watched = this.#watched.get(id);
    watched?.waiters.delete(waiter);
    if (watched?.waiters.size === 0) this.#watched.delete(id);
    if (this.#watched.size === 0) this.#nap?.abort();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Calls of the same turn of the event loop come along.
    await Promise.resolve();
    while (this.#watched.size > 0) {
      const startMs = this.#clock.monotonic();
      const due = this.#due(startMs);
      for (let from = 0; from < due.length; from += this.#options.idsMax)
        await this.#lookAt(due.slice(from, from + this.#options.idsMax));
      const tookMs = this.#clock.monotonic() - startMs;
      await sleep(this.#clock, Math.max(ROUND_MS_MIN, due.length === 0 ? 0 : tookMs));
      await this.#napUntilDue();
    }
    this.#isRunning = false;
  }

  /** Those that would be due before long are looked at with the others, instead of in a round of their own. */
  #due(nowMs: number): string[] {
    const due: string[] = [];
    for (const [id, { dueMs, pauseMs }] of this.#watched) if (dueMs <= nowMs + pauseMs / 2) due.push(id);
    return due;
  }

  async #lookAt(ids: readonly string[]): Promise<void> {
    const look = ++this.#looks;
    try {
      const seen = await this.#options.look(ids);
      const nowMs = this.#clock.monotonic();
      for (const id of ids) {
        const one = seen.get(id);
        const isOver = one === undefined || this.#options.isOver(one);
        this.#dismiss(id, look, (waiter) => {
          if (isOver || waiter.endMs <= nowMs) waiter.tell(one);
          return isOver || waiter.endMs <= nowMs;
        });
      }
    } catch (error) {
      for (const id of ids)
        this.#dismiss(id, look, ({ fail }) => {
          fail(error);
          return true;
        });
    }
  }

  /** Shows the waiters of an id what this look came to; those that go on waiting, and those that came meanwhile, are looked at again. */
  #dismiss(id: string, look: number, isDone: (waiter: Waiter<Seen>) => boolean): void {
    const watched = this.#watched.get(id);
    if (!watched) return;
    const nowMs = this.#clock.monotonic();
    let dueMs = nowMs + watched.pauseMs;
    for (const waiter of watched.waiters)
      if (waiter.after >= look) dueMs = nowMs;
      else if (isDone(waiter)) watched.waiters.delete(waiter);
      else dueMs = Math.min(dueMs, waiter.endMs);
    if (watched.waiters.size === 0) return void this.#watched.delete(id);
    watched.dueMs = dueMs;
    watched.pauseMs = Math.min(PAUSE_MS.max, watched.pauseMs * PAUSE_MS.factor);
  }

  async #napUntilDue(): Promise<void> {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const watched of this.#watched.values()) dueMs = Math.min(dueMs, watched.dueMs);
    const leftMs = dueMs - this.#clock.monotonic();
    if (leftMs <= 0 || this.#watched.size === 0) return;
    this.#nap = new AbortController();
    await sleep(this.#clock, leftMs, this.#nap.signal);
    this.#nap = undefined;
  }
}
