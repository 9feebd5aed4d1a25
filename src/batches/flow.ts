// A flow as it is declared: nodes that wait for one another. A node can only name nodes that were declared before it, by the reference it
// was given for them, so a cycle cannot be written.

import { ConfigError, FairmillError } from "../base/errors.js";
import { nameOf, oneOf, readable, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { SchemaInput, StandardSchema } from "../base/standard-schema.js";
import { isThenable } from "../base/thenable.js";
import type { Claim } from "../core/job/claim.js";
import { defineJob, type JobDefinition, type JobOptions } from "../core/job/job-definition.js";
import { type BatchCall, type Callbacks, checkCallbacks } from "./batch.js";

/** A node that was declared. `Result` is what it returns to those behind it. */
export interface NodeRef<Result = unknown> {
  readonly name: string;
  /** Only a type. */
  readonly "~result"?: Result;
}

export interface NodeOptions {
  /** The nodes that are over before this one starts; default: none. */
  readonly after?: readonly NodeRef[];
  /** Starts when all of them have succeeded (default), have ended in any way, or at least one has failed. Otherwise it is skipped. */
  readonly when?: "succeeded" | "settled" | "failed";
  /** When this node fails: fail the flow (default), skip what waits for its success, or go on as if it had succeeded. */
  readonly onFailure?: "fail" | "skip" | "continue";
}

/** A node that runs a function may say how, like a job. */
export interface RunOptions
  extends NodeOptions,
    Pick<JobOptions<undefined, unknown>, "queue" | "priority" | "timeout" | "retry"> {}

/** What a node enqueues when it starts. `input` of a flow gives `inputs` of the jobs. */
export interface NodeJobs {
  // biome-ignore lint/suspicious/noExplicitAny: a flow holds jobs of all kinds; the builder checks that the parts fit.
  readonly definition: JobDefinition<any, any>;
  readonly inputs: (input: unknown) => readonly unknown[];
}

export interface FlowNode {
  readonly name: string;
  /** Indexes of the nodes before it. */
  readonly after: readonly number[];
  readonly when: "succeeded" | "settled" | "failed";
  readonly onFailure: "fail" | "skip" | "continue";
  readonly jobs: NodeJobs | undefined;
  /** Of a node that runs a function: what it does. Its type is known where it runs. */
  readonly run: ((ctx: never) => unknown) | undefined;
  /** Of a node that is a flow. */
  readonly flow:
    | { readonly definition: FlowDefinition<unknown>; readonly input: (input: unknown) => unknown }
    | undefined;
}

export interface FlowDefinition<In = unknown> {
  readonly name: string;
  readonly nodes: readonly FlowNode[];
  readonly schema: StandardSchema<In, unknown> | undefined;
  readonly callbacks: (input: In) => AnyCallbacks;
}

// biome-ignore lint/suspicious/noExplicitAny: callbacks of any jobs; their inputs are checked when the flow is started.
export type AnyCallbacks = Callbacks<any, any, any>;

export interface FlowOptions<In, Schema extends StandardSchema | undefined> {
  readonly name: string;
  /** Validates the flow's input when it is started: any Standard Schema library. */
  readonly input?: Schema;
  /** Jobs to enqueue when the flow is over, made from its input. */
  readonly callbacks?: (input: In) => AnyCallbacks;
}

/** Declares the nodes. `Context` is what a function gets that a node runs. */
export interface FlowBuilder<In, Context> {
  /** A node that is one job. */
  job<JobIn, Result>(
    name: string,
    definition: JobDefinition<JobIn, unknown, Result>,
    input: (input: In) => JobIn,
    options?: NodeOptions,
  ): NodeRef<Result>;
  /** A node that is several jobs of one kind. */
  jobs<JobIn, Result>(
    name: string,
    definition: JobDefinition<JobIn, unknown, Result>,
    inputs: (input: In) => readonly JobIn[],
    options?: NodeOptions,
  ): NodeRef<Result>;
  /** A node that runs a function in a worker. Jobs that it adds to `ctx.batch` belong to the node. */
  run<Result>(name: string, run: (ctx: Context) => Promise<Result> | Result, options?: RunOptions): NodeRef<Result>;
  /** A node that is a whole flow. */
  flow<FlowIn>(
    name: string,
    flow: FlowDefinition<FlowIn>,
    input: (input: In) => FlowIn,
    options?: NodeOptions,
  ): NodeRef;
}

const OF_NODE = ["after", "when", "onFailure"] as const;
const OF_RUN = [...OF_NODE, "queue", "priority", "timeout", "retry"] as const;
const WHEN = ["succeeded", "settled", "failed"] as const;
const ON_FAILURE = ["fail", "skip", "continue"] as const;

/** Throws unless it is a flow. */
export function checkFlow(flow: unknown, where: string): void {
  if (!readable("flow", where, () => isFlow(flow)))
    throw new ConfigError("flow", `${where}: ${showValue(flow)} is no flow: pass what defineFlow(…) returned.`);
}

function isFlow(flow: unknown): boolean {
  const { name, nodes, callbacks } = (flow ?? {}) as Partial<FlowDefinition>;
  return typeof name === "string" && Array.isArray(nodes) && typeof callbacks === "function";
}

/** Collects what `declare` says. */
export function buildFlow<In, Context>(
  options: FlowOptions<In, StandardSchema | undefined>,
  declare: (flow: FlowBuilder<In, Context>) => void,
): FlowDefinition<In> {
  if (typeof options !== "object" || options === null || typeof declare !== "function")
    throw new ConfigError(
      "options",
      `defineFlow(${showValue(options)}): pass { name } and a function that declares the nodes.`,
    );
  refuseUnknown(options, ["name", "input", "callbacks"], "defineFlow");
  const name = nameOf(options.name, "name");
  const where = `defineFlow("${name}")`;
  const nodes: FlowNode[] = [];
  const indexes = new Map<NodeRef, number>();
  let isDeclared = false;

  const add = <Result>(
    nodeName: string,
    given: NodeOptions,
    part: Partial<Pick<FlowNode, "jobs" | "run" | "flow">>,
  ): NodeRef<Result> => {
    const at = `${where}, node ${showValue(nodeName)}`;
    nameOf(nodeName, "node");
    if (isDeclared)
      throw new ConfigError("node", `${at}: it comes too late. Declare all nodes before the function returns.`);
    if (nodes.some((node) => node.name === nodeName))
      throw new ConfigError("node", `${at}: there is another node of this name.`);
    if (!Array.isArray(given.after ?? []))
      throw new ConfigError("after", `${at}: after must be a list of nodes, not ${showValue(given.after)}.`);
    const after = (given.after ?? []).map((ref) => {
      const index = indexes.get(ref);
      if (index !== undefined) return index;
      throw new ConfigError(
        "after",
        `${at}: after names ${showValue(ref)}, which is no node of this flow. Pass what flow.job, flow.run or flow.flow returned.`,
      );
    });
    if (given.when === "failed" && after.length === 0)
      throw new ConfigError("when", `${at}: when "failed" needs nodes in after, of which one may fail.`);
    nodes.push({
      name: nodeName,
      after: [...new Set(after)],
      when: oneOf(given.when ?? "succeeded", WHEN, "when", at),
      onFailure: oneOf(given.onFailure ?? "fail", ON_FAILURE, "onFailure", at),
      jobs: undefined,
      run: undefined,
      flow: undefined,
      ...part,
    });
    const ref: NodeRef<Result> = Object.freeze({ name: nodeName });
    indexes.set(ref, nodes.length - 1);
    return ref;
  };
  const functionOf = (value: unknown, what: string, node: string) => {
    if (typeof value !== "function")
      throw new ConfigError(what, `${where}, node ${showValue(node)}: ${what} must be a function of the flow's input.`);
  };

  const jobOf = (definition: unknown, node: string) => {
    if (typeof (definition as JobDefinition | undefined)?.kind !== "string")
      throw new ConfigError(
        "job",
        `${where}, node ${showValue(node)}: ${showValue(definition)} is no job: pass what defineJob(…) returned.`,
      );
  };

  const declared: unknown = declare({
    job(node, definition, input, given = {}) {
      refuseUnknown(given, OF_NODE, `${where}, node ${showValue(node)}`);
      jobOf(definition, node);
      functionOf(input, "input", node);
      return add(node, given, { jobs: { definition, inputs: (flowInput) => [input(flowInput as In)] } });
    },
    jobs(node, definition, inputs, given = {}) {
      refuseUnknown(given, OF_NODE, `${where}, node ${showValue(node)}`);
      jobOf(definition, node);
      functionOf(inputs, "inputs", node);
      return add(node, given, { jobs: { definition, inputs: (flowInput) => inputs(flowInput as In) } });
    },
    run<Result>(node: string, run: (ctx: Context) => Result, given: RunOptions = {}) {
      refuseUnknown(given, OF_RUN, `${where}, node ${showValue(node)}`);
      functionOf(run, "run", node);
      const { after: _, when: __, onFailure: ___, ...how } = given;
      const definition = defineJob<unknown>({ ...how, kind: `${name}/${node}` });
      return add(node, given, {
        run: run as FlowNode["run"],
        jobs: { definition, inputs: (flowInput) => [flowInput] },
      }) as NodeRef<Awaited<Result>>;
    },
    flow(node, definition, input, given = {}) {
      refuseUnknown(given, OF_NODE, `${where}, node ${showValue(node)}`);
      checkFlow(definition, `${where}, node ${showValue(node)}`);
      functionOf(input, "input", node);
      return add(node, given, {
        flow: { definition: definition as FlowDefinition<unknown>, input: (flowInput) => input(flowInput as In) },
      });
    },
  });
  isDeclared = true;
  if (isThenable(declared)) {
    // Its outcome is reported here.
    declared.then(undefined, () => {});
    throw new ConfigError(
      "declare",
      `${where}: the function that declares the nodes must not be async: it says what there is, and waits for nothing.`,
    );
  }
  const callbacks = options.callbacks ?? ((): AnyCallbacks => ({}));
  return Object.freeze({
    name,
    nodes,
    schema: options.input as FlowDefinition<In>["schema"],
    callbacks: (input: In) => {
      const made = callbacks(input);
      refuseUnknown(made, ["onSuccess", "onComplete", "onDeath"], `${where}: callbacks`);
      checkCallbacks(made, where);
      return made;
    },
  });
}

export type FlowInput<Schema> = Schema extends StandardSchema ? SchemaInput<Schema> : unknown;

/** Reads what nodes of a flow returned, and whose callback a job is. Implemented where the database is known. */
export interface NodeReader {
  result(claim: Claim, node: string): Promise<unknown>;
  results(claim: Claim, node: string): Promise<unknown[]>;
  caller(claim: Claim): Promise<BatchCall | undefined>;
}

/** A handler asked for the result of a node that has none to give. */
export class NodeResultError extends FairmillError {
  override readonly name = "NodeResultError";
  constructor(node: string, why: string) {
    super("FAIRMILL_NODE_RESULT", `The result of node "${node}" cannot be read: ${why}`);
  }
}
