// The coordination of producers from outside, as a middleware that can be set, replaced or removed. Its part at enqueue sees registrations; the
// waiting is done by the database: upkeep looks at the batch when its window is over, so nobody waits in a worker's slot.
import { type Stability, type Window, windowOf } from "../model/batch.js";
import { ConfigError } from "../model/errors.js";
import { refuseUnknown } from "../model/settings.js";
import { checkLogger, type Logger } from "../observe/log.js";
import { type EnqueueMiddleware, SILENT } from "./middleware.js";

export interface Registration {
  readonly kind: string;
  readonly batch: string;
}

export interface BatchCoordinationOptions extends Stability {
  /** Hears of every job that is registered in a batch. */
  readonly onRegistered?: (registration: Registration) => void;
  /** Writes a line about each, at level debug. */
  readonly logger?: Logger;
}

export const BATCH_COORDINATION = "batch-coordination";

/** What the client reads of it; symbols, because middlewares have no other fields. */
const WINDOW = Symbol("window");

interface Coordination extends EnqueueMiddleware {
  readonly run?: never;
  readonly [WINDOW]: Window;
  readonly [SILENT]: boolean;
}

/** How long open batches wait for registrations that are still on their way. Part of the chain unless it is removed. */
export function batchCoordination(
  options: BatchCoordinationOptions = {},
): EnqueueMiddleware & { readonly run?: never } {
  refuseUnknown(options, ["stabilityWindow", "maxWait", "pollInterval", "onRegistered", "logger"], "batchCoordination");
  const { onRegistered, logger, ...stability } = options;
  if (onRegistered !== undefined && typeof onRegistered !== "function")
    throw new ConfigError("onRegistered", "onRegistered: must be a function of a registration.");
  if (logger !== undefined) checkLogger(logger);
  const member: Coordination = {
    name: BATCH_COORDINATION,
    enqueue: ({ kind, options: { batch } }) => {
      if (batch === undefined) return;
      logger?.debug({ kind, batch }, "Job registered in batch");
      onRegistered?.({ kind, batch });
    },
    [WINDOW]: windowOf(stability, "batchCoordination"),
    [SILENT]: onRegistered === undefined && logger === undefined,
  };
  return Object.freeze(member);
}

/** The window for batches that say nothing about it; undefined: the coordination was removed. */
export function windowIn(middlewares: Iterable<EnqueueMiddleware>): Window | undefined {
  for (const member of middlewares) if (member.name === BATCH_COORDINATION) return (member as Coordination)[WINDOW];
  return undefined;
}
