// What a supervisor announces.
import type { ChildFacts } from "./child.js";
import type { PartName } from "./health.js";
import type { ChildState } from "./life-cycle.js";
import type { CrashLoopError } from "./pool-errors.js";
import type { ScaleDecision, ScaleInputs } from "./scale/brain.js";

export interface SupervisorEvents {
  started: [{ supervisor: string }];
  /** A child has changed its state; `before` is what it was. */
  child: [{ child: ChildFacts; before: ChildState }];
  /** A decision about the size of the pool: also those that change nothing. */
  scaled: [{ decision: ScaleDecision; inputs: ScaleInputs }];
  /** A part of the worker had made no progress for too long: there is a new one. */
  restarted: [{ part: PartName }];
  /** The children's code offers other kinds or queues than before: these are claimed now. */
  adopted: [{ kinds: readonly string[]; queues: readonly string[] }];
  reported: [{ hosts: number }];
  trouble: [{ doing: string; error: unknown }];
  /** The children fail again and again: the supervisor stops. */
  failed: [{ error: CrashLoopError }];
  stopped: [{ supervisor: string }];
}
