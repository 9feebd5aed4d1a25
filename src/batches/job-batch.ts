// What a handler sees of the batch and the flow that its job belongs to.

import type { Jsonify } from "../base/jsonify.js";
import { nameOf, readable } from "../base/settings.js";
import type { Claim } from "../core/job/claim.js";
import type { EnqueueOptions } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { NodeReader, NodeRef } from "./flow.js";

/** The batch of which a job is a member. */
export interface JobBatch {
  /** For `client.enqueue(job, input, { batch: ctx.batch.id })`: stored at once, and safe as long as this job runs. */
  readonly id: string;
  /** Adds a job, like `ctx.enqueue`: it is stored with the settle of this one, and counted before the batch can be over. */
  add<In>(definition: JobDefinition<In, unknown>, input: In, options?: Omit<EnqueueOptions, "batch">): Promise<void>;
}

/** The flow of which a job's batch is a node. */
export interface JobFlow {
  /** What the first job of a node returned; undefined when it did not succeed. The node must be over: name it in `after`. */
  result<T>(node: NodeRef<T> | string): Promise<Jsonify<T> | undefined>;
  /** What all jobs of a node returned that succeeded, oldest first, at most 10,000. */
  results<T>(node: NodeRef<T> | string): Promise<Jsonify<T>[]>;
}

type Enqueue = <In>(definition: JobDefinition<In, unknown>, input: In, options: EnqueueOptions) => Promise<void>;

export const batchOf = (id: string, enqueue: Enqueue): JobBatch => ({
  id,
  add: (definition, input, options) => enqueue(definition, input, { ...options, batch: id }),
});

export const flowOf = (claim: Claim, reader: NodeReader): JobFlow => ({
  result: async <T>(node: NodeRef<T> | string) =>
    (await reader.result(claim, nodeName(node))) as Jsonify<T> | undefined,
  results: async <T>(node: NodeRef<T> | string) => (await reader.results(claim, nodeName(node))) as Jsonify<T>[],
});

const nodeName = (node: NodeRef | string) =>
  readable("node", "ctx.flow", () => nameOf(typeof node === "string" ? node : node?.name, "node"));
