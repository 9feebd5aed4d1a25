// Steps as the runner and the store speak of them, and what tells that the code of a job changed under it.
import type { Claim } from "../core/job/claim.js";
import { StepChangedError } from "./step-errors.js";

export type StepKind = "run" | "sleep" | "wait";

/** A step that an earlier run, or this one, has come to. */
export interface KnownStep {
  readonly name: string;
  readonly kind: StepKind;
  /** The how-manieth call of its run it was. */
  readonly position: number;
  /** undefined: nothing was kept. */
  readonly result: unknown;
  /** A wait that got its signal. */
  readonly signalled: boolean;
  /** The handler was given it. Only sleeps and waits are known before. */
  readonly finished: boolean;
}

/** Where the runner keeps steps. Every write is fenced by the claim, and repeated until it is answered or the run is over. */
export interface StepKeeper {
  readonly stepsMax: number;
  /** What earlier runs left, in the order in which it was finished. */
  read(claim: Claim, isOver: () => boolean): Promise<readonly KnownStep[]>;
  store(claim: Claim, step: DoneStep, isOver: () => boolean): Promise<StepAnswer>;
  pause(claim: Claim, step: Pause, isOver: () => boolean): Promise<PauseAnswer>;
}

export interface DoneStep {
  readonly name: string;
  readonly position: number;
  /** undefined: nothing to keep. */
  readonly json: string | undefined;
  readonly tookMs: number;
}

export interface Pause {
  readonly name: string;
  readonly position: number;
  readonly kind: "sleep" | "wait";
  /** undefined: without end. */
  readonly waitMs: number | undefined;
}

export interface StepAnswer {
  readonly answer: "stored" | "known" | "lost" | "full" | "large";
  readonly kind: StepKind | null;
  readonly result: unknown;
}

export interface PauseAnswer {
  readonly answer: "over" | "waiting" | "busy" | "known" | "lost" | "full";
  /** undefined: without end. */
  readonly inMs: number | undefined;
  readonly signalled: boolean;
  readonly result: unknown;
  readonly kind: StepKind | null;
}

/** "charge@2" is the second version of "charge"; without a number it is the first. */
function versionOf(name: string): { base: string; version: number } {
  const match = /^(.+)@(\d{1,9})$/.exec(name);
  return match ? { base: match[1]!, version: Number(match[2]) } : { base: name, version: 1 };
}

/** What earlier runs have left, and whether this run goes the same way. */
export class KnownSteps {
  readonly #byName = new Map<string, KnownStep>();
  /** By position the latest version. */
  readonly #byPosition = new Map<number, KnownStep>();

  constructor(steps: readonly KnownStep[] = []) {
    for (const step of steps) {
      this.#byName.set(step.name, step);
      const other = this.#byPosition.get(step.position);
      if (!other || versionOf(other.name).version < versionOf(step.name).version)
        this.#byPosition.set(step.position, step);
    }
  }

  /** The step, if it is known; undefined if it is to be done. Throws where the run leaves the way of those before it. */
  at(position: number, name: string, kind: StepKind): KnownStep | undefined {
    const known = this.#byName.get(name);
    if (known && known.kind !== kind) throw new StepChangedError(name, `it was a ${known.kind} and is a ${kind} now`);
    const here = this.#byPosition.get(position);
    if (here && here.name !== name && !isNewer(name, here.name))
      throw new StepChangedError(name, `as number ${position + 1} an earlier run came to "${here.name}"`);
    if (known && known.position !== position)
      throw new StepChangedError(name, `it was number ${known.position + 1} and is number ${position + 1} now`);
    return known;
  }
}

/** A later version of the same step may take its place; an earlier one may not: that is old code, and would pay again. */
function isNewer(name: string, stored: string): boolean {
  const [a, b] = [versionOf(name), versionOf(stored)];
  return a.base === b.base && a.version > b.version;
}
