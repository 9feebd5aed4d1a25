// Flows as an application uses them: starts one that was declared, looks at it, runs it again from a node on.

import type { Duration } from "../base/duration.js";
import { ConfigError, InputInvalidError } from "../base/errors.js";
import { checkBatchId } from "../base/job-id.js";
import { nameOf, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { type JobMakers, newJob } from "../core/enqueue/make-job.js";
import { onceOnly } from "../core/enqueue/unknown-outcome.js";
import { BatchNotFoundError } from "./batch.js";
import { type Batch, readBatch } from "./batch-statements.js";
import { Batches, type BatchTools } from "./batches.js";
import { newCallbacks, plannedJob } from "./callbacks.js";
import { checkFlow, type FlowDefinition, type FlowNode } from "./flow.js";
import {
  createFlow,
  type FlowNodeInfo,
  type NewFlow,
  type NewNode,
  type RetryFlowAnswer,
  readNodes,
  retryFlow,
} from "./flow-statements.js";

export interface StartFlowOptions {
  /** Whose flow it is; default "default". */
  readonly tenant?: string;
  /** Of all its jobs; default: what their definitions say. */
  readonly priority?: number;
  /** The batch that is not over before this flow: its id. */
  readonly parent?: string;
}

/** A flow as it stands, with its nodes in the order of their declaration; those of a flow inside name it as `parent`. */
export interface Flow extends Batch {
  readonly nodes: readonly FlowNodeInfo[];
}

export class Flows {
  readonly #tools: BatchTools;

  constructor(tools: BatchTools) {
    this.#tools = tools;
  }

  /** A flow with its nodes; undefined when there is none. */
  get(id: string): Promise<Flow | undefined> {
    const { db, call } = this.#tools;
    return call(async () => {
      const flow = await readBatch(db, checkBatchId(id));
      return flow?.role === "flow" ? { ...flow, nodes: await readNodes(db, id) } : undefined;
    });
  }

  /** Waits until a flow is over, and returns it with its nodes; throws when the time is. It goes on in any case. */
  async wait(id: string, options: { readonly timeout?: Duration } = {}): Promise<Flow> {
    await new Batches(this.#tools).wait(id, options);
    const flow = await this.get(id);
    if (!flow) throw new BatchNotFoundError("flow", id);
    return flow;
  }

  cancel(id: string): Promise<Batch["state"]> {
    return new Batches(this.#tools).cancel(id);
  }

  /** Runs a flow again from a node on, or from every node that failed. Nodes that do not depend on it stay as they are. */
  async retry(id: string, options: { readonly from?: string } = {}): Promise<RetryFlowAnswer> {
    refuseUnknown(options, ["from"], "flows.retry");
    if (options.from !== undefined) nameOf(options.from, "from");
    const { db, call } = this.#tools;
    return call(async () => {
      const answer = await retryFlow(db, checkBatchId(id), options.from);
      if (answer.answer === "not_found") throw new BatchNotFoundError("flow", id);
      return answer;
    });
  }
}

export async function startFlow<In>(
  tools: BatchTools,
  definition: FlowDefinition<In>,
  input: In,
  options: StartFlowOptions,
): Promise<{ readonly id: string }> {
  return tools.call(async () => {
    const flow = await newFlow(tools, definition, input, options);
    return { id: await onceOnly("flow", () => createFlow(tools.db, flow)) };
  });
}

/** The flow as it is stored: flows inside it unfolded, every job checked and sealed. */
export async function newFlow<In>(
  makers: JobMakers,
  definition: FlowDefinition<In>,
  input: In,
  options: StartFlowOptions,
): Promise<NewFlow> {
  checkFlow(definition, "flow");
  refuseUnknown(options, ["tenant", "priority", "parent"], `flow("${definition.name}")`);
  const tenant = options.tenant === undefined ? "default" : nameOf(options.tenant, "tenant");
  const priority = options.priority === undefined ? undefined : wholeNumber(options.priority, -1000, 1000, "priority");
  const nodes: NewNode[] = [];

  const unfold = async (
    flow: FlowDefinition<unknown>,
    flowInput: unknown,
    inside: number | undefined,
  ): Promise<void> => {
    await checkFlowInput(flow, flowInput);
    const places: number[] = [];
    for (const node of flow.nodes) {
      places.push(nodes.length);
      nodes.push({
        name: node.name,
        after: node.after.map((place) => places[place]!),
        inside,
        when: node.when,
        onFailure: node.onFailure,
        jobs: await jobsOf(node, flowInput),
      });
      if (node.flow) await unfold(node.flow.definition, node.flow.input(flowInput), places.at(-1));
    }
  };
  const jobsOf = async (node: FlowNode, flowInput: unknown) => {
    if (node.jobs === undefined) return [];
    await makers.rules.tell(node.jobs.definition);
    const jobs = [];
    const inputs = node.jobs.inputs(flowInput);
    if (!Array.isArray(inputs))
      throw new ConfigError(
        "inputs",
        `flow("${definition.name}"), node "${node.name}": inputs made ${showValue(inputs)}, which is no list.`,
      );
    for (const jobInput of inputs) {
      const job = newJob(
        node.jobs.definition,
        jobInput,
        priority === undefined ? { tenant } : { tenant, priority },
        makers.codec,
        makers.chain,
      );
      jobs.push(plannedJob(job instanceof Promise ? await job : job));
    }
    return jobs;
  };

  await unfold(definition as FlowDefinition<unknown>, input, undefined);
  return {
    name: definition.name,
    tenant,
    parent: options.parent === undefined ? undefined : checkBatchId(options.parent, "parent"),
    callbacks: await newCallbacks(definition.callbacks(input), tenant, makers),
    nodes,
  };
}

async function checkFlowInput(flow: FlowDefinition<unknown>, input: unknown): Promise<void> {
  const result = await flow.schema?.["~standard"].validate(input);
  if (result?.issues)
    throw new InputInvalidError(
      flow.name,
      result.issues.map(({ path, message }) => ({
        path: (path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join("."),
        message,
      })),
    );
}
