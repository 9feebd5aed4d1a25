// A handler bound to its job definition, and the table in which the runner finds it.
import type { Claim } from "../model/claim.js";
import type { Delivered } from "../model/delivery.js";
import { ConfigError } from "../model/errors.js";
import type { JobDefinition } from "../model/job-definition.js";
import type { JobContext } from "./context.js";

/** Returns the job's result, or `cancel(…)` or `snooze(…)`; throws to fail the attempt. */
export type HandlerFunction<Input> = (ctx: JobContext<Input>) => unknown;

export interface Handler {
  // biome-ignore lint/suspicious/noExplicitAny: a table of handlers holds all kinds; `handle` checks that the two parts fit.
  readonly definition: JobDefinition<any, any>;
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  readonly run: HandlerFunction<any>;
  /** Of a channel: delivers the message of the job, whose own payload is empty. Takes the place of `run`. */
  readonly deliver?: (claim: Claim, ctx: JobContext, isOver: () => boolean) => Promise<Delivered>;
}

/** Binds a function to a job definition; the types of both must fit. */
export function handle<In, Out>(definition: JobDefinition<In, Out>, run: HandlerFunction<Out>): Handler {
  if (typeof run !== "function")
    throw new ConfigError("handlers", `handle("${definition.kind}"): the second argument must be a function.`);
  return { definition, run };
}

export function handlerTable(handlers: readonly Handler[]): ReadonlyMap<string, Handler> {
  const table = new Map<string, Handler>();
  for (const handler of handlers) {
    const { kind } = handler.definition;
    if (table.has(kind))
      throw new ConfigError("handlers", `handlers: job kind "${kind}" has two handlers; remove one.`);
    table.set(kind, handler);
  }
  return table;
}
