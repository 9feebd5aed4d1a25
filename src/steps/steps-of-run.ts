// What the steps of a run need of it, and tell it.

import type { Clock } from "../base/clock.js";
import type { LeaseLostError } from "../base/errors.js";
import type { Claim } from "../core/job/claim.js";
import type { StepKeeper } from "./step.js";

/** Whether a run that has done so many steps itself ends before its next new one: its process ends soon. */
export type MustYield = (stepsDone: number) => boolean;

/** What the steps need of their run. */
export interface StepsOfRun {
  readonly claim: Claim;
  readonly clock: Clock;
  readonly keeper: StepKeeper;
  readonly abortedBy: () => unknown;
  /** The run is decided: whatever comes now comes too late. */
  readonly isOver: () => boolean;
  readonly onLost: (reason: LeaseLostError) => void;
  readonly onPaused: (delayMs: number, waits: readonly string[]) => void;
  readonly mustYield?: MustYield | undefined;
  /** The run has ended at a step because its process ends: it goes on from there in another one. */
  readonly onYielded: () => void;
  /** A value is kept as JSON. */
  readonly onKept: (what: string, value: unknown) => void;
}
