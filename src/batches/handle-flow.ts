// Flows as code declares them: what they are made of, and the handlers of those nodes that run a function.

import type { StandardSchema } from "../base/standard-schema.js";
import type { JobContext } from "../core/run/context.js";
import type { Handler } from "../core/run/handler.js";
import {
  buildFlow,
  checkFlow,
  type FlowBuilder,
  type FlowDefinition,
  type FlowInput,
  type FlowOptions,
} from "./flow.js";

/** Declares a flow: `declare` is called once, and says which nodes there are and what each waits for. */
export function defineFlow<Schema extends StandardSchema>(
  options: FlowOptions<FlowInput<Schema>, Schema> & { readonly input: Schema },
  declare: (flow: FlowBuilder<FlowInput<Schema>, JobContext<FlowInput<Schema>>>) => void,
): FlowDefinition<FlowInput<Schema>>;
export function defineFlow<Input = unknown>(
  options: FlowOptions<Input, undefined> & { readonly input?: undefined },
  declare: (flow: FlowBuilder<Input, JobContext<Input>>) => void,
): FlowDefinition<Input>;
export function defineFlow(
  options: FlowOptions<unknown, StandardSchema | undefined>,
  declare: (flow: FlowBuilder<unknown, never>) => void,
): FlowDefinition<unknown> {
  return buildFlow(options, declare);
}

/** The handlers of a flow's functions, and of the flows inside it: `handlers: [...handleFlow(flow), …]`. */
// biome-ignore lint/suspicious/noExplicitAny: flows of any input have handlers.
export function handleFlow(flow: FlowDefinition<any>): Handler[] {
  checkFlow(flow, "handleFlow");
  const handlers = new Map<string, Handler>();
  const collect = (definition: FlowDefinition<unknown>) => {
    for (const node of definition.nodes) {
      if (node.run && node.jobs)
        handlers.set(node.jobs.definition.kind, { definition: node.jobs.definition, run: node.run as Handler["run"] });
      if (node.flow) collect(node.flow.definition);
    }
  };
  collect(flow);
  return [...handlers.values()];
}
