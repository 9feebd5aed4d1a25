// What the features of a worker bring to the context of handlers, put together: one line a feature.

import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/log.js";
import { batchMembers } from "../batches/batch-context.js";
import type { NodeReader } from "../batches/flow.js";
import type { ContextMembers, RunControl } from "../core/run/context.js";
import { captureMembers } from "../credits/capture-context.js";
import { type UnitKeeper, type UsesOfKinds, useMembers } from "../limits/use-context.js";
import { logMembers } from "../logs/log-context.js";
import type { RunLogs } from "../logs/run-logs.js";
import { type PublishMembersOptions, publishMembers } from "../outbox/publish-context.js";
import { callMembers } from "../providers/call-context.js";
import type { CallKeeper } from "../providers/call-keeper.js";
import { type TickReader, tickMembers } from "../schedules/tick-context.js";
import { type StepTools, stepMembers } from "../steps/step-context.js";

export type { BatchContext } from "../batches/batch-context.js";
// With these types come the declarations that add them to JobContext: an entry of the package imports this file for their sake (`src/index.ts`).
export type { CaptureContext } from "../credits/capture-context.js";
export type { UseContext } from "../limits/use-context.js";
export type { LogContext } from "../logs/log-context.js";
export type { PublishContext } from "../outbox/publish-context.js";
export type { ProviderContext } from "../providers/call-context.js";
export type { TickContext } from "../schedules/tick-context.js";
export type { StepContext } from "../steps/step-context.js";

/** Where the members have their answers from: the database, or a supervisor's process that asks it. */
export interface MembersOptions extends PublishMembersOptions {
  readonly clock: Clock;
  readonly steps: Omit<StepTools, "clock">;
  readonly nodes: NodeReader;
  readonly tickOf: TickReader;
  readonly use: UnitKeeper;
  readonly uses: UsesOfKinds;
  readonly log: Logger;
  readonly logs: RunLogs;
  readonly calls: CallKeeper;
}

/** A member that `JobContext` declares and this lacks does not compile. */
export const contextMembers =
  ({ clock, codec, steps, nodes, tickOf, use, uses, tell, log, logs, calls }: MembersOptions) =>
  (control: RunControl): ContextMembers => ({
    ...stepMembers(control, { ...steps, clock }),
    ...publishMembers(control, { codec, tell }),
    ...batchMembers(control, nodes),
    ...tickMembers(tickOf),
    ...useMembers(use, uses),
    ...captureMembers(),
    ...logMembers(logs, log),
    ...callMembers(calls, clock),
  });
