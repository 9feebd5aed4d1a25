// Middlewares around a handler: each gets the context and a `next` that runs what is inside of it. Composed once per handler; where
// nothing waits, nothing here makes a promise.

import { isThenable } from "../../base/thenable.js";
import { type Adds, MiddlewareError } from "../job/middleware-list.js";
import type { JobContext } from "./context.js";

/** Runs the rest, once. Takes what the middleware promised to add to the context; returns the result, or a promise of it. */
export type Next<Added = unknown> = unknown extends Added ? () => unknown : (add: Added) => unknown;

/**
 * What it returns is the job's result, `cancel(…)` and `snooze(…)` included; what it throws is the job's error. Return what `next()` returns,
 * or await it. Without a call of `next` the handler does not run.
 */
export type RunPart<Added = unknown> = (ctx: JobContext, next: Next<Added>) => unknown;

/** The part that runs around handlers. */
export interface RunMiddleware<out Added = unknown> extends Adds<Added> {
  readonly name: string;
  /** What `next` must be given, `middleware()` has seen to. */
  readonly run?: RunPart;
}

type RunFunction = (ctx: JobContext) => unknown;

/** The handler inside of all middlewares that have a part at run; itself when there are none. */
export function surround(middlewares: Iterable<RunMiddleware>, handler: RunFunction): RunFunction {
  return [...middlewares].reduceRight<RunFunction>(
    (inner, { name, run }) => (run === undefined ? inner : (ctx) => pass(name, run, ctx, inner)),
    handler,
  );
}

/** One middleware of one run. */
function pass(name: string, run: RunPart, ctx: JobContext, inner: RunFunction): unknown {
  let isCalled = false;
  let isOver = false;
  let fault: MiddlewareError | undefined;
  /** What is inside, while it has not ended. */
  let pending: PromiseLike<unknown> | undefined;

  const next = (add?: unknown): unknown => {
    if (isCalled || isOver) {
      fault ??= new MiddlewareError(name, isOver ? "called next() after it had ended" : "called next() twice");
      throw fault;
    }
    isCalled = true;
    if (add !== undefined) extend(ctx, add, name);
    const result = inner(ctx);
    if (isThenable(result)) {
      pending = result;
      const clear = () => {
        pending = undefined;
      };
      result.then(clear, clear);
    }
    return result;
  };

  /** The handler has ended before the job does: whatever the middleware came to, it comes after. */
  const end = (finish: () => unknown): unknown => {
    isOver = true;
    const last = () => {
      if (fault !== undefined) throw fault;
      return finish();
    };
    return pending === undefined ? last() : Promise.resolve(pending).then(last, last);
  };
  const returned = (value: unknown): unknown => {
    const left = pending;
    return end(left === undefined ? () => value : () => refuseLeft(name, left));
  };
  const threw = (error: unknown): unknown =>
    end(() => {
      throw error;
    });

  let result: unknown;
  try {
    result = run(ctx, next as Next);
  } catch (error) {
    return threw(error);
  }
  // Handed on as it is: nothing to wait for that the next one would not wait for.
  if (result !== undefined && result === pending) return result;
  return isThenable(result) ? Promise.resolve(result).then(returned, threw) : returned(result);
}

/** A middleware that returned while the handler still ran: an error of the handler is told, a result of it would be lost. */
async function refuseLeft(name: string, left: PromiseLike<unknown>): Promise<never> {
  await left;
  throw new MiddlewareError(name, "did not wait for next(): return what it returns, or await it");
}

/** The context itself is extended: its methods know it by its identity. */
function extend(ctx: JobContext, add: unknown, name: string): void {
  if (typeof add !== "object" || add === null) throw new MiddlewareError(name, "called next() with what is no object");
  for (const key of Reflect.ownKeys(add)) {
    if (key in ctx) throw new MiddlewareError(name, `adds "${String(key)}" to the context, which is there already`);
    Object.defineProperty(ctx, key, { value: (add as Record<PropertyKey, unknown>)[key], enumerable: true });
  }
}
