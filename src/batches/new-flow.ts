// From a declared flow and its input to the flow that is stored.

import { ConfigError, InputInvalidError } from "../base/errors.js";
import { checkBatchId } from "../base/job-id.js";
import { nameOf, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { idempotencyKey, type JobMakers, newJob } from "../core/enqueue/make-job.js";
import { newCallbacks, plannedJob } from "./callbacks.js";
import { checkFlow, type FlowDefinition, type FlowNode } from "./flow.js";
import type { NewFlow, NewNode } from "./flow-statements.js";

export interface StartFlowOptions {
  /** Whose flow it is; default "default". */
  readonly tenant?: string;
  /** Of all its jobs; default: what their definitions say. */
  readonly priority?: number;
  /** The batch that is not over before this flow: its id. */
  readonly parent?: string;
  /** A second start with the same key, per tenant, answers with the first one's flow, for as long as that is kept. */
  readonly idempotencyKey?: string;
}

/** The flow as it is stored: flows inside it unfolded, every job checked and sealed. */
export async function newFlow<In>(
  makers: JobMakers,
  definition: FlowDefinition<In>,
  input: In,
  options: StartFlowOptions,
): Promise<NewFlow> {
  checkFlow(definition, "flows.start");
  refuseUnknown(options, ["tenant", "priority", "parent", "idempotencyKey"], `flows.start("${definition.name}")`);
  const tenant = options.tenant === undefined ? "default" : nameOf(options.tenant, "tenant");
  const priority = options.priority === undefined ? undefined : wholeNumber(options.priority, -1000, 1000, "priority");
  const nodes: NewNode[] = [];

  const unfold = async (
    flow: FlowDefinition<unknown>,
    flowInput: unknown,
    inside: number | undefined,
  ): Promise<void> => {
    await checkFlowInput(flow, flowInput);
    const indexes: number[] = [];
    for (const node of flow.nodes) {
      indexes.push(nodes.length);
      nodes.push({
        name: node.name,
        after: node.after.map((index) => indexes[index]!),
        inside,
        when: node.when,
        onFailure: node.onFailure,
        jobs: await jobsOf(node, flowInput),
      });
      if (node.flow) await unfold(node.flow.definition, node.flow.input(flowInput), indexes.at(-1));
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
    idempotencyKey: options.idempotencyKey === undefined ? undefined : idempotencyKey(options.idempotencyKey),
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
