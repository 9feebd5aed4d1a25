// One run of one job: from the call of its handler to its verdict. Made for every job, so it is lean: no promise and no timer of its
// own unless the handler needs them.
import type { Claim } from "../job/claim.js";
import type { Effects } from "../job/effects.js";
import type { Verdict, VerdictDetails } from "../job/outcome.js";
import type { Completion, RunEffects } from "./run-effects.js";
import type { TimeLimit } from "./time-limit.js";

export interface RunEnds {
  /** The verdict is known, and what is to be written with it. */
  onVerdict(run: DecidedRun): void;
  /** The handler has settled its job itself, as done, and its transaction has committed. */
  onCompleted(run: DecidedRun, completion: Completion): void;
  /** The handler has really ended: usually at the same moment, later when it ignored its signal. */
  onOver(run: Run): void;
}

/** What a feature keeps for one run, such as its steps. Made when the handler first asks for it. */
export interface RunAttachment {
  /** Resolves when nothing is under way any more; undefined when nothing is. Called when the handler has ended. */
  drain(): Promise<unknown> | undefined;
  /** Why the run must not succeed, whatever its handler returns. */
  readonly fault: unknown;
  /** The run was told to stop. */
  abort(reason: Error): void;
}

/** From here on it is what is written of its job. */
export type DecidedRun = Run & { verdict: Verdict };

export class Run {
  readonly claim: Claim;
  readonly startedAtMs: number;
  /** From its start to its verdict. */
  durationMs = 0;
  /** What the handler was given, as far as the run needs it. */
  context: { onAborted(reason: unknown): void } | undefined;
  /** Why the handler was told to stop, if it was. The first reason stands. */
  abortedBy: unknown;
  verdict: Verdict | undefined;
  /** What the handler asks for while it runs; made by its first call. */
  asked: RunEffects | undefined;
  /** What of that is written with the verdict, or neither is. */
  effects: Effects | undefined;
  /** What a feature's runner leaves to be written with the verdict. */
  details: VerdictDetails | undefined;
  #attachments: RunAttachment[] | undefined;
  /** The handler has really ended. */
  isOver = false;
  /** It ignored its signal for too long: its job is settled without it. */
  isGivenUp = false;
  timeLimit: TimeLimit<Run> | undefined;
  /** Forgets the timer that gives up a handler which ignores its signal. */
  forgetGrace: (() => void) | undefined;

  constructor(claim: Claim, startedAtMs: number) {
    this.claim = claim;
    this.startedAtMs = startedAtMs;
  }

  get isDecided(): boolean {
    return this.verdict !== undefined;
  }

  /** The first verdict stands; a handler that ignores its signal is no longer waited for. */
  decide(verdict: Verdict): asserts this is DecidedRun {
    this.verdict ??= verdict;
    this.forgetGrace?.();
  }

  /** The handler has settled its job in a transaction that may still be open. */
  get isCompleted(): boolean {
    return this.asked?.completion !== undefined;
  }

  /** What a feature keeps for this run; the first call makes it. */
  attached<One extends RunAttachment>(type: abstract new (...args: never[]) => One, make: () => One): One {
    for (const one of this.#attachments ?? []) if (one instanceof type) return one;
    const made = make();
    this.#attachments ??= [];
    this.#attachments.push(made);
    return made;
  }

  abort(reason: Error): void {
    if (this.abortedBy !== undefined) return;
    this.abortedBy = reason;
    this.context?.onAborted(reason);
    if (this.#attachments) for (const one of this.#attachments) one.abort(reason);
  }

  /** Resolves when no attachment and no effect is under way any more; undefined when none is. */
  drain(): Promise<unknown> | undefined {
    if (this.#attachments === undefined) return this.asked?.drain();
    const draining = [...this.#attachments.map((one) => one.drain()), this.asked?.drain()].filter(
      (each) => each !== undefined,
    );
    return draining.length > 1 ? Promise.all(draining) : draining[0];
  }

  /** Why the run must not succeed: of an attachment, or of its effects. */
  get fault(): unknown {
    if (this.#attachments) for (const { fault } of this.#attachments) if (fault !== undefined) return fault;
    return this.asked?.fault;
  }
}
