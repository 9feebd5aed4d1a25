// `client.flows`: starts flows that were declared, looks at them, runs them again from a node on.

import type { Duration } from "../base/duration.js";
import { checkBatchId } from "../base/job-id.js";
import { nameOf, refuseUnknown } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { onceOnly } from "../core/enqueue/unknown-outcome.js";
import { BatchNotFoundError, type BatchState } from "./batch.js";
import { type Batch, type BatchFilter, readBatch } from "./batch-statements.js";
import type { Batches } from "./batches-client.js";
import type { FlowDefinition } from "./flow.js";
import { createFlow, type FlowNodeInfo, type RetryFlowAnswer, readNodes, retryFlow } from "./flow-statements.js";
import { newFlow, type StartFlowOptions } from "./new-flow.js";

/** A flow as it stands, with its nodes in the order of their declaration; those of a flow inside name it as `parent`. */
export interface Flow extends Batch {
  readonly nodes: readonly FlowNodeInfo[];
}

export class Flows {
  readonly #context: ClientContext;
  readonly #batches: Batches;

  /** A flow is a batch: what is true of all of them is asked of `batches`. */
  constructor(context: ClientContext, batches: Batches) {
    this.#context = context;
    this.#batches = batches;
  }

  /** Starts a flow: all its nodes are stored, and those that wait for no other begin. */
  start<In>(
    definition: FlowDefinition<In>,
    input: In,
    options: StartFlowOptions = {},
  ): Promise<{ readonly id: string }> {
    const context = this.#context;
    return context.call(async () => {
      const flow = await newFlow(context, definition, input, options);
      const create = () => createFlow(context, flow);
      return { id: await (context.isAlone ? onceOnly("flow", create) : create()) };
    });
  }

  /** A flow with its nodes; undefined when there is none. */
  get(id: string): Promise<Flow | undefined> {
    return this.#context.call(async () => {
      const flow = await readBatch(this.#context, checkBatchId(id));
      return flow?.role === "flow" ? { ...flow, nodes: await readNodes(this.#context, id) } : undefined;
    });
  }

  /** A page of flows, newest first, without their nodes. */
  async list(filter: Omit<BatchFilter, "role"> = {}): Promise<Batch[]> {
    refuseUnknown(filter, ["state", "tenant", "before", "limit"], "flows.list");
    return this.#batches.list({ ...filter, role: "flow" });
  }

  /** Waits until a flow is over, and returns it with its nodes; throws when the time is. It goes on in any case. */
  async wait(id: string, options: { readonly timeout?: Duration } = {}): Promise<Flow> {
    await this.#batches.wait(id, options);
    const flow = await this.get(id);
    if (!flow) throw new BatchNotFoundError("flow", id);
    return flow;
  }

  /** Cancels what is left of a flow: nodes that have not started never will. */
  cancel(id: string): Promise<BatchState> {
    return this.#batches.cancel(id);
  }

  /** Runs a flow again from a node on, or from every node that failed. Nodes that do not depend on it stay as they are. */
  async retry(id: string, options: { readonly from?: string } = {}): Promise<RetryFlowAnswer> {
    refuseUnknown(options, ["from"], "flows.retry");
    if (options.from !== undefined) nameOf(options.from, "from");
    return this.#context.call(async () => {
      const answer = await retryFlow(this.#context, checkBatchId(id), options.from);
      if (answer.answer === "not_found") throw new BatchNotFoundError("flow", id);
      return answer;
    });
  }
}
