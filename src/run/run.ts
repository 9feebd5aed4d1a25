// One run of one job: from the call of its handler to its verdict. Made for every job, so it is lean: no promise and no timer of its
// own unless the handler needs them.
import type { Claim } from "../model/claim.js";
import type { DeliveryMark } from "../model/delivery-mark.js";
import type { Verdict } from "../model/outcome.js";
import type { RunContext } from "./context.js";

export interface RunEnds {
  /** The verdict is known. */
  onVerdict(run: Run, verdict: Verdict): void;
  /** The handler has really ended: usually at the same moment, later when it ignored its signal. */
  onOver(run: Run): void;
}

export class Run {
  readonly claim: Claim;
  readonly startedAtMs: number;
  context: RunContext<unknown> | undefined;
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

  /** Why the handler was told to stop, if it was. */
  get abortedBy(): unknown {
    return this.context?.abortedBy;
  }
}
