// A middleware as applications write it: one name, a part at enqueue, a part at run, or both.
import type { EnqueueMiddleware } from "../core/enqueue/enqueue-middleware.js";
import { checkMiddlewares } from "../core/job/middleware-list.js";
import type { JobContext } from "../core/run/context.js";
import type { RunMiddleware, RunPart } from "../core/run/run-middleware.js";

/** `Added` is what its part at run adds to the context of handlers. */
export interface Middleware<out Added = unknown> extends RunMiddleware<Added> {
  readonly enqueue?: NonNullable<EnqueueMiddleware["enqueue"]>;
}

/** What `middleware` takes. Whoever promises to add something has a part at run that does, under names that the context does not have. */
export type MiddlewareOptions<Added> = Pick<Middleware, "name" | "enqueue"> &
  (unknown extends Added
    ? { readonly run?: RunPart }
    : keyof Added & keyof JobContext extends never
      ? { readonly run: RunPart<Added> }
      : { readonly run: "ctx has a member of this name already" });

/** Declares a middleware: `middleware<{ user: User }>({ name: "user", run: async (ctx, next) => next({ user: await … }) })`. */
export function middleware<Added = unknown>(
  // The type is named or there is none: what a call of next is given makes no promise.
  options: MiddlewareOptions<NoInfer<Added>>,
): Middleware<Added> {
  // Checked as it will be when it is used.
  const [checked] = checkMiddlewares([options as Middleware<Added>])!;
  return Object.freeze({ ...checked! });
}

/** The setting `use`. */
export type Use = readonly Middleware[];
