// How long jobs of each kind usually run, so that a tick claims only what it can end: learned from rows of earlier ticks and workers, and
// from what this process runs. Of a kind with steps it is the step that has to fit, because its jobs may stop between two.

interface Times {
  count: number;
  meanMs: number;
  /** Mean distance from the mean. */
  spreadMs: number;
}

interface Usual {
  run: Times | undefined;
  step: Times | undefined;
}

/** What rows say of a kind. */
export interface KnownRuns {
  readonly kind: string;
  readonly runs: number;
  readonly runMs: number;
  readonly steps: number;
  readonly stepMs: number;
}

/** How much a new time counts, once there are some. */
const NEW_SHARE = 0.1;

export class UsualRuns {
  readonly #kinds = new Map<string, Usual>();

  /** Only these kinds are remembered. */
  constructor(kinds: readonly string[]) {
    for (const kind of kinds) this.#kinds.set(kind, { run: undefined, step: undefined });
  }

  learn(known: Iterable<KnownRuns>): void {
    for (const { kind, runs, runMs, steps, stepMs } of known) {
      const usual = this.#kinds.get(kind);
      if (!usual) continue;
      if (runs > 0) usual.run ??= timesOf(runs, runMs);
      if (steps > 0) usual.step ??= timesOf(steps, stepMs);
    }
  }

  ran(kind: string, ms: number): void {
    const usual = this.#kinds.get(kind);
    if (usual) usual.run = withTime(usual.run, ms);
  }

  stepped(kind: string, ms: number): void {
    const usual = this.#kinds.get(kind);
    if (usual) usual.step = withTime(usual.step, ms);
  }

  /** How much time a job of this kind needs to get on; 0 where nothing is known. */
  needMs(kind: string): number {
    const usual = this.#kinds.get(kind);
    const times = usual?.step ?? usual?.run;
    return times === undefined ? 0 : times.meanMs + times.spreadMs;
  }

  /** How long it takes on average; 0 where nothing is known. */
  meanMs(kind: string): number {
    const usual = this.#kinds.get(kind);
    return (usual?.step ?? usual?.run)?.meanMs ?? 0;
  }

  /**
   * The kinds whose usual need fits into the time. `freshMs`: of a tick that has only begun, all the time that it has: a kind that never has
   * more of a chance gets this one, if its mean fits.
   */
  fitting(ms: number, freshMs = 0): string[] {
    return [...this.#kinds.keys()].filter((kind) => this.needMs(kind) <= ms || this.meanMs(kind) <= freshMs);
  }
}

const timesOf = (count: number, sumMs: number): Times => ({
  count,
  meanMs: sumMs / count,
  spreadMs: sumMs / count / 2,
});

function withTime(times: Times | undefined, ms: number): Times {
  if (times === undefined) return { count: 1, meanMs: ms, spreadMs: ms / 2 };
  const count = times.count + 1;
  const share = Math.max(NEW_SHARE, 1 / count);
  return {
    count,
    meanMs: times.meanMs + (ms - times.meanMs) * share,
    spreadMs: times.spreadMs + (Math.abs(ms - times.meanMs) - times.spreadMs) * share,
  };
}
