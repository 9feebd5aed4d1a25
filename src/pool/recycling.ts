// When a child is replaced by a fresh one: after so many jobs, so much time or so much memory, or because a restart was asked for. One at a time, and
// each child has limits of its own, a little beside those of the others: children that were started together are not replaced together.
import type { Clock } from "../base/clock.js";
import type { Child } from "./child.js";
import type { PoolSettings } from "./pool-settings.js";

/** Up to this part of a limit is added to it, by dice. */
const JITTER = 0.2;

interface Limits {
  readonly jobs: number;
  readonly ageMs: number;
}

export class Recycling {
  readonly #settings: PoolSettings["recycle"];
  readonly #clock: Clock;
  readonly #replace: (child: Child, why: string) => Promise<boolean>;
  readonly #limits = new WeakMap<Child, Limits>();
  readonly #asked = new Set<Child>();
  #last: Promise<boolean> = Promise.resolve(true);
  #isStopped = false;

  constructor(
    settings: PoolSettings["recycle"],
    clock: Clock,
    replace: (child: Child, why: string) => Promise<boolean>,
  ) {
    this.#settings = settings;
    this.#clock = clock;
    this.#replace = replace;
  }

  born(child: Child): void {
    const { jobs = Number.POSITIVE_INFINITY, ageMs = Number.POSITIVE_INFINITY } = this.#settings;
    const factor = 1 + JITTER * this.#clock.random();
    this.#limits.set(child, { jobs: Math.ceil(jobs * factor), ageMs: ageMs * factor });
  }

  /** Asked whenever something about the child is known anew. */
  look(child: Child): void {
    const why = this.#whyOf(child);
    if (why !== undefined) void this.ask(child, why);
  }

  #whyOf(child: Child): string | undefined {
    const { jobs, ageMs } = this.#limits.get(child)!;
    const { memoryBytes = Number.POSITIVE_INFINITY } = this.#settings;
    if (child.jobsOfProcess >= jobs) return `recycled after ${child.jobsOfProcess} jobs`;
    if (child.ageMs >= ageMs) return `recycled after ${Math.round(child.ageMs / 1000)} s`;
    if (child.memoryBytes >= memoryBytes) return `recycled at ${Math.round(child.memoryBytes / 1024 / 1024)} MiB`;
    return undefined;
  }

  async restart(children: readonly Child[], why: string): Promise<boolean> {
    for (const child of children) if (!(await this.ask(child, why))) return false;
    return true;
  }

  /** Behind what was asked for before. */
  ask(child: Child, why: string): Promise<boolean> {
    if (this.#asked.has(child) || child.isDraining || this.#isStopped) return this.#last;
    this.#asked.add(child);
    this.#last = this.#last.then(async () => {
      if (this.#isStopped) return true;
      try {
        return await this.#replace(child, why);
      } finally {
        this.#asked.delete(child);
      }
    });
    return this.#last;
  }

  stop(): void {
    this.#isStopped = true;
  }
}
