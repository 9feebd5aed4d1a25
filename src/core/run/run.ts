// One run of one job: from the call of its handler to its verdict. Made for every job, so it is lean: no promise and no timer of its
// own unless the handler needs them.

import type { DeliveryMark } from "../../outbox/delivery-mark.js";
import type { Claim } from "../job/claim.js";
import type { Effects } from "../job/effects.js";
import type { Verdict } from "../job/outcome.js";
import type { RunContext } from "./context.js";
import type { Completion } from "./run-effects.js";
import type { TimeLimit } from "./time-limit.js";

export interface RunEnds {
  /** The verdict is known, and what is to be written with it. */
  onVerdict(run: DecidedRun): void;
  /** The handler has settled its job itself, as done, and its transaction has committed. */
  onCompleted(run: DecidedRun, completion: Completion): void;
  /** The handler has really ended: usually at the same moment, later when it ignored its signal. */
  onOver(run: Run): void;
}

/** From here on it is what is written of its job. */
export type DecidedRun = Run & { verdict: Verdict };

export class Run {
  readonly claim: Claim;
  readonly startedAtMs: number;
  /** From its start to its verdict. */
  durationMs = 0;
  context: RunContext<unknown, Run> | undefined;
  verdict: Verdict | undefined;
  /** What the handler asked for: written with the verdict, or neither is. */
  effects: Effects | undefined;
  /** Of a delivery job: what its attempt to send came to. */
  delivery: DeliveryMark | undefined;
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

  /** The first verdict stands, and ends the patience with a handler that ignores its signal. */
  decide(verdict: Verdict): asserts this is DecidedRun {
    this.verdict ??= verdict;
    this.forgetGrace?.();
  }

  /** The handler has settled its job in a transaction that may still be open. */
  get isCompleted(): boolean {
    return this.context?.completion !== undefined;
  }

  /** Why the handler was told to stop, if it was. */
  get abortedBy(): unknown {
    return this.context?.abortedBy;
  }
}
