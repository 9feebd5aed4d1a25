// One run of one job: from the call of its handler to its verdict. Made for every job, so it is lean: no promise and no timer of its
// own unless the handler needs them.
import type { Claim } from "../model/claim.js";
import type { DeliveryMark } from "../model/delivery-mark.js";
import type { Effects } from "../model/effects.js";
import type { Verdict } from "../model/outcome.js";
import type { RunContext } from "./context.js";
import type { Completion } from "./effects.js";

export interface RunEnds {
  /** The verdict is known, and what is to be written with it. */
  onVerdict(run: Run, verdict: Verdict, effects: Effects | undefined): void;
  /** The handler has settled its job itself, as done, and its transaction has committed. */
  onCompleted(run: Run, completion: Completion): void;
  /** The handler has really ended: usually at the same moment, later when it ignored its signal. */
  onOver(run: Run): void;
}

export class Run {
  readonly claim: Claim;
  readonly startedAtMs: number;
  context: RunContext<unknown, Run> | undefined;
  isDecided = false;
  /** Of a delivery job: what its attempt to send came to. */
  delivery: DeliveryMark | undefined;
  /** Forgets the timer that gives up a handler which ignores its signal. */
  forgetGrace: (() => void) | undefined;
  readonly #abort: (run: Run, reason: Error) => void;

  constructor(claim: Claim, startedAtMs: number, abort: (run: Run, reason: Error) => void) {
    this.claim = claim;
    this.startedAtMs = startedAtMs;
    this.#abort = abort;
  }

  /** Tells the handler to stop; the first reason stands. */
  abort(reason: Error): void {
    this.#abort(this, reason);
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
