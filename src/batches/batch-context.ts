// Batches and flows in the context of handlers.
import type { ContextMembers, RunControl } from "../core/run/context.js";
import type { BatchCall } from "./batch.js";
import type { NodeReader } from "./flow.js";
import { batchOf, flowOf, type JobBatch, type JobFlow } from "./job-batch.js";

export interface BatchContext {
  /** The batch of which this job is a member, to add more jobs to it; null: none. */
  readonly batch: JobBatch | null;
  /** Of a callback: which batch or flow it is about, and what has happened to it; undefined for every other job. */
  calledBy(): Promise<BatchCall | undefined>;
  /** What the nodes before this one returned; null for a job that belongs to no batch. */
  readonly flow: JobFlow | null;
}

declare module "../core/run/context.js" {
  interface JobContext<Input> extends BatchContext {}
}

export const batchMembers = (control: RunControl, nodes: NodeReader): ContextMembers<keyof BatchContext> => ({
  batch: (run) => {
    const { batch } = run.claim;
    if (batch === null) return null;
    return batchOf(batch, (definition, input, options) => control.effectsOf(run).enqueue(definition, input, options));
  },
  calledBy:
    ({ claim }) =>
    () =>
      nodes.caller(claim),
  flow: ({ claim }) => (claim.batch === null ? null : flowOf(claim, nodes)),
});
