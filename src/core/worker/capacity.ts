// The capacity of a worker: how many jobs each queue may run at once, which claimed ones wait for capacity in this process, and who
// waits for it to become free.
import type { Claim } from "../job/claim.js";

interface QueueCapacity {
  /** What the settings say. */
  readonly usual: number;
  max: number;
  readonly ahead: number;
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
      this.#queues.set(queue, { usual: max, max, ahead: prefetch.get(queue) ?? 0, used: 0, waiting: [] });
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
  demand(): Map<string, number> {
    const demand = new Map<string, number>();
    for (const [queue, own] of this.#queues) {
      const left = own.max - own.used + own.ahead - own.waiting.length;
      if (left > 0) demand.set(queue, left);
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

  give(queue: string): void {
    this.#queues.get(queue)!.used--;
    this.#used--;
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

  /** Resolves at the next `give` or `notify`. */
  freed(): Promise<void> {
    return new Promise((resolve) => this.#freed.push(resolve));
  }

  /** Ends every wait. */
  notify(): void {
    if (this.#freed.length > 0) for (const resolve of this.#freed.splice(0)) resolve();
  }
}
