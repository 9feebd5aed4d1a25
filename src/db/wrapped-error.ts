// Query builders and ORMs wrap what their driver threw. Here it is taken out again.
import { FairmillError } from "../base/errors.js";

/** Wrappers around wrappers are followed so far. */
const LAYERS_MAX = 5;

/** Most have the driver's error as their cause; Prisma gives its state and message under names of its own. */
interface Layer {
  readonly cause?: Layer;
  readonly meta?: { readonly driverAdapterError?: Layer };
  readonly originalCode?: string;
  readonly originalMessage?: string;
}

/**
 * The innermost error: it has the SQL state, and a message without a copy of the parameters. Only for what a caller's transaction threw:
 * the causes of other errors have nothing to do with the database.
 */
export function driversError(failure: unknown): unknown {
  if (failure instanceof FairmillError) return failure;
  let error = failure as Layer | undefined;
  for (let layers = 0; layers < LAYERS_MAX; layers++) {
    const inner = error?.meta?.driverAdapterError ?? error?.cause;
    if (typeof inner !== "object" || inner === null) break;
    error = inner;
  }
  return error?.originalCode === undefined ? error : { code: error.originalCode, message: error.originalMessage };
}
