// The places of a worker: how many jobs each queue may run at once, which claimed ones wait for a place in this process, and who
// waits for one to become free.
import type { Claim } from "../job/claim.js";

interface Places {
  readonly usual: number;
  max: number;
  readonly ahead: number;
  used: number;
  /** Claimed and not started, in their order. */
  waiting: Claim[];
}

export class Slots {
  readonly #places = new Map<string, Places>();
  #total: number;
  #used = 0;
  #waiting = 0;
  #freed: (() => void)[] = [];

  constructor(concurrency: ReadonlyMap<string, number>, prefetch: ReadonlyMap<string, number>) {
    let total = 0;
    for (const [queue, max] of concurrency) {
      this.#places.set(queue, { usual: max, max, ahead: prefetch.get(queue) ?? 0, used: 0, waiting: [] });
      total += max;
    }
    this.#total = total;
  }

  get total(): number {
    return this.#total;
  }

  /** So many times what the settings say: a pool of processes has as many as it has processes. What runs beyond that goes on. */
  resize(times: number): void {
    this.#total = 0;
    for (const places of this.#places.values()) {
      places.max = places.usual * times;
      this.#total += places.max;
    }
    this.notify();
  }

  get used(): number {
    return this.#used;
  }

  /** Claimed jobs that wait for a place. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many more jobs each queue could take; queues that are full are left out. */
  demand(): Map<string, number> {
    const demand = new Map<string, number>();
    for (const [queue, places] of this.#places) {
      const left = places.max - places.used + places.ahead - places.waiting.length;
      if (left > 0) demand.set(queue, left);
    }
    return demand;
  }

  /** Puts a claimed job in line for a place of its queue. */
  add(claim: Claim): void {
    this.#places.get(claim.queue)!.waiting.push(claim);
    this.#waiting++;
  }

  /** Takes places for jobs that wait, as many as there are, and returns those jobs. */
  fill(): Claim[] {
    let starting: Claim[] = [];
    for (const places of this.#places.values()) {
      const count = Math.min(places.max - places.used, places.waiting.length);
      if (count <= 0) continue;
      starting = starting.concat(places.waiting.splice(0, count));
      places.used += count;
      this.#used += count;
      this.#waiting -= count;
    }
    return starting;
  }

  /** Takes a place for a job that was not in line. */
  take(queue: string): void {
    this.#places.get(queue)!.used++;
    this.#used++;
  }

  give(queue: string): void {
    this.#places.get(queue)!.used--;
    this.#used--;
    this.notify();
  }

  /** Takes these jobs, or all, out of the line. */
  withdraw(isWanted: (claim: Claim) => boolean = () => true): Claim[] {
    const withdrawn: Claim[] = [];
    for (const places of this.#places.values()) {
      withdrawn.push(...places.waiting.filter(isWanted));
      places.waiting = places.waiting.filter((claim) => !isWanted(claim));
    }
    this.#waiting -= withdrawn.length;
    return withdrawn;
  }

  get line(): Claim[] {
    return [...this.#places.values()].flatMap((places) => places.waiting);
  }

  /** Resolves at the next `give` or `notify`. */
  freed(): Promise<void> {
    return new Promise((resolve) => this.#freed.push(resolve));
  }

  /** Whoever waits shall look again. */
  notify(): void {
    if (this.#freed.length > 0) for (const resolve of this.#freed.splice(0)) resolve();
  }
}
