// A handler bound to its job definition, and the table in which the runner finds it.

import { ConfigError } from "../../base/errors.js";
import { readable, refuseUnknown } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";
import type { Claim } from "../job/claim.js";
import type { JobDefinition } from "../job/job-definition.js";
import type { AddedBy } from "../job/middleware-list.js";
import type { Directive, Outcome, VerdictDetails } from "../job/outcome.js";
import type { JobContext } from "./context.js";
import type { Completed } from "./run-effects.js";
import { type RunMiddleware, surround } from "./run-middleware.js";

/** Returns the job's result, or `cancel(…)` or `snooze(…)`; throws to fail the attempt. `Added` is what middlewares add to the context. */
export type HandlerFunction<Input, Added = unknown, Returned = unknown> = (
  ctx: JobContext<Input> & Added,
) => HandlerAnswer<Returned>;

/** A result of this type, at once or later, or what may stand in its place. Anything, where the definition names no type. */
export type HandlerAnswer<Returned> = unknown extends Returned
  ? unknown
  : Returned | Directive | Completed | PromiseLike<Returned | Directive | Completed>;

/**
 * Runs a job instead of a function of the application, and says itself what the run came to: the payload is not opened before, and middlewares do
 * not surround it. `isOver`: the run is decided, whatever the runner still does.
 */
export type JobRunner = (claim: Claim, ctx: JobContext, isOver: () => boolean) => Promise<RunnerAnswer>;

export interface RunnerAnswer {
  readonly outcome: Outcome;
  /** What the feature writes with the verdict. */
  readonly details?: VerdictDetails;
}

/** `Added` is what it needs of middlewares. */
export interface Handler<Added = unknown> {
  // biome-ignore lint/suspicious/noExplicitAny: a table of handlers holds all kinds; `handle` checks that the two parts fit.
  readonly definition: JobDefinition<any, any, any, any>;
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  readonly run: HandlerFunction<any, Added>;
  /** The middlewares without which it cannot run. */
  readonly needs?: readonly RunMiddleware[];
  /** Takes the place of `run`, for features that run jobs in a way of their own. */
  readonly runner?: JobRunner;
}

export interface HandleOptions<Needs extends readonly RunMiddleware[]> {
  /** The middlewares whose additions to the context the handler uses: a worker without one of them is refused. */
  readonly needs?: Needs;
}

/** Binds a function to a job definition; the types of both must fit. */
export function handle<In, Out, Returned = unknown, const Needs extends readonly RunMiddleware[] = []>(
  definition: JobDefinition<In, Out, unknown, Returned>,
  run: HandlerFunction<Out, AddedBy<Needs>, NoInfer<Returned>>,
  options: HandleOptions<Needs> = {},
): Handler<AddedBy<Needs>> {
  if (!readable("handlers", "handle", () => typeof definition?.kind === "string"))
    throw new ConfigError("handlers", `handle(${showValue(definition)}): pass what defineJob(…) returned.`);
  if (typeof run !== "function")
    throw new ConfigError("handlers", `handle("${definition.kind}"): the second argument must be a function.`);
  refuseUnknown(options, ["needs"], `handle("${definition.kind}")`);
  const handler: Handler<AddedBy<Needs>> = { definition, run: run as HandlerFunction<unknown, AddedBy<Needs>> };
  return options.needs === undefined ? handler : { ...handler, needs: options.needs };
}

/** By kind, each handler inside of the middlewares. */
export function handlerTable(
  handlers: readonly Handler[],
  middlewares: Iterable<RunMiddleware> = [],
): ReadonlyMap<string, Handler> {
  const around = [...middlewares];
  const table = new Map<string, Handler>();
  for (const handler of handlers) {
    const { kind } = handler.definition;
    if (table.has(kind))
      throw new ConfigError("handlers", `handlers: job kind "${kind}" has two handlers; remove one.`);
    for (const { name } of handler.needs?.filter((one) => !around.some(({ name }) => name === one.name)) ?? [])
      throw new ConfigError("use", `use: the handler of job kind "${kind}" needs the middleware "${name}"; add it.`);
    const run = surround(around, handler.run);
    table.set(kind, run === handler.run ? handler : { ...handler, run });
  }
  return table;
}
