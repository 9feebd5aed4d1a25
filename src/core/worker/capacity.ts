// The capacity of a worker: how many jobs each queue may run at once, which claimed ones wait for capacity in this process, and who
// waits for it to become free.
import type { Claim } from "../job/claim.js";
import { ShortJobs } from "./short-jobs.js";

/** Where the settings do not say, at most this many times its places are claimed ahead of a queue. */
const AHEAD_FACTOR = 10;

interface QueueCapacity {
  /** What the settings say. */
  readonly usual: number;
  max: number;
  /** What the settings say; undefined: as many as short jobs have ended lately. */
  readonly ahead: number | undefined;
  readonly short: ShortJobs;
  used: number;
  /** Claimed and not started, in their order. */
  waiting: Claim[];
}

export class Capacity {
  readonly #queues = new Map<string, QueueCapacity>();
  #total: number;
  #used = 0;
  #waiting = 0;
  #freed: (() => void)[] = [];

  constructor(concurrency: ReadonlyMap<string, number>, prefetch: ReadonlyMap<string, number>) {
    let total = 0;
    for (const [queue, max] of concurrency) {
      this.#queues.set(queue, {
        usual: max,
        max,
        ahead: prefetch.get(queue),
        short: new ShortJobs(),
        used: 0,
        waiting: [],
      });
      total += max;
    }
    this.#total = total;
  }

  get total(): number {
    return this.#total;
  }

  /** A factor of what the settings say: a pool of processes has as many as it has processes. What runs beyond that goes on. */
  resize(times: number): void {
    this.#total = 0;
    for (const own of this.#queues.values()) {
      own.max = own.usual * times;
      this.#total += own.max;
    }
    this.notify();
  }

  get used(): number {
    return this.#used;
  }

  /** Claimed jobs that wait for capacity. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many more jobs each queue could take; queues that are full are left out. */
  demand(nowMs: number): Map<string, number> {
    const demand = new Map<string, number>();
    for (const [queue, own] of this.#queues) {
      const free = own.max - own.used - own.waiting.length;
      const ahead = own.ahead ?? aheadOf(own, nowMs);
      // A claim for the last few of many would be a round trip for a few jobs: it waits until half of them are gone.
      if (own.ahead === undefined && free <= 0 && -free * 2 > ahead) continue;
      if (free + ahead > 0) demand.set(queue, free + ahead);
    }
    return demand;
  }

  /** Puts a claimed job in line for capacity of its queue. */
  add(claim: Claim): void {
    this.#queues.get(claim.queue)!.waiting.push(claim);
    this.#waiting++;
  }

  /** Takes capacity for jobs that wait, as much as there is, and returns those jobs. */
  fill(): Claim[] {
    let starting: Claim[] = [];
    for (const own of this.#queues.values()) {
      const count = Math.min(own.max - own.used, own.waiting.length);
      if (count <= 0) continue;
      starting = starting.concat(own.waiting.splice(0, count));
      own.used += count;
      this.#used += count;
      this.#waiting -= count;
    }
    return starting;
  }

  /** Takes capacity for a job that was not in line. */
  take(queue: string): void {
    this.#queues.get(queue)!.used++;
    this.#used++;
  }

  /** A job has ended that took so long. */
  give(queue: string, durationMs: number, nowMs: number): void {
    const own = this.#queues.get(queue)!;
    own.used--;
    this.#used--;
    if (own.ahead === undefined) own.short.ended(durationMs, nowMs);
    this.notify();
  }

  /** Takes these jobs, or all, out of the line. */
  withdraw(isWanted: (claim: Claim) => boolean = () => true): Claim[] {
    const withdrawn: Claim[] = [];
    for (const own of this.#queues.values()) {
      withdrawn.push(...own.waiting.filter(isWanted));
      own.waiting = own.waiting.filter((claim) => !isWanted(claim));
    }
    this.#waiting -= withdrawn.length;
    return withdrawn;
  }

  get line(): Claim[] {
    return [...this.#queues.values()].flatMap((own) => own.waiting);
  }

  /** Those that were claimed ahead although no setting says so. */
  get unasked(): Claim[] {
    return [...this.#queues.values()].flatMap((own) => (own.ahead === undefined ? own.waiting : []));
  }

  /** Resolves at the next `give` or `notify`. */
  freed(): Promise<void> {
    return new Promise((resolve) => this.#freed.push(resolve));
  }

  /** Ends every wait. */
  notify(): void {
    if (this.#freed.length > 0) for (const resolve of this.#freed.splice(0)) resolve();
  }
}

/** Nothing ahead of a single place: there jobs run strictly in the order in which they became ready, and a claim of several does not tell it. */
const aheadOf = ({ max, short }: QueueCapacity, nowMs: number): number =>
  max === 1 ? 0 : Math.min(short.lately(nowMs), max * AHEAD_FACTOR);
