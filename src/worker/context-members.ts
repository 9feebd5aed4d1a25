// What the features of a worker bring to the context of handlers, put together: one line a feature.

import type { Clock } from "../base/clock.js";
import { batchMembers } from "../batches/batch-context.js";
import { FlowNodeReader } from "../batches/node-reader.js";
import type { ContextMembers, RunControl } from "../core/run/context.js";
import type { Database } from "../db/database.js";
import { publishMembers } from "../outbox/publish-context.js";
import { tickMembers } from "../schedules/tick-context.js";
import type { StepKeeper } from "../steps/step.js";
import { stepMembers } from "../steps/step-context.js";
import type { WorkerEffects } from "./effect-maker.js";
import type { WorkerSettings } from "./worker-settings.js";

// With these types come the declarations that add them to JobContext: an entry of the package imports this file for their sake (`src/index.ts`).
export type { BatchContext } from "../batches/batch-context.js";
export type { PublishContext } from "../outbox/publish-context.js";
export type { TickContext } from "../schedules/tick-context.js";
export type { StepContext } from "../steps/step-context.js";

export interface MembersOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly settings: WorkerSettings;
  readonly steps: StepKeeper;
  readonly effects: WorkerEffects;
}

/** A member that `JobContext` declares and this lacks does not compile. */
export const contextMembers =
  ({ db, clock, settings: { codec }, steps, effects }: MembersOptions) =>
  (control: RunControl): ContextMembers => ({
    ...stepMembers(control, steps, clock),
    ...publishMembers(control, { codec, tell: (definition) => effects.tell(definition) }),
    ...batchMembers(control, new FlowNodeReader(db, codec)),
    ...tickMembers(db),
  });
