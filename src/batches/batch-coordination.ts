// The coordination of producers from outside, as a middleware that can be set, replaced or removed. It is told of registrations once they are
// stored, with the job's id; the waiting is done by the database: upkeep looks at the batch when its window is over, so no slot of a worker
// is held meanwhile.

import { ConfigError } from "../base/errors.js";
import { checkLogger, type Logger } from "../base/log.js";
import { refuseUnknown } from "../base/settings.js";
import { type EnqueueMiddleware, SILENT } from "../core/enqueue/enqueue-middleware.js";
import type { StoredWatcher } from "../core/enqueue/sender.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import { type Stability, type Window, windowOf } from "./batch.js";

export interface Registration {
  /** Null: of a job that a handler asks for, which is stored when its own job is settled. */
  readonly job: string | null;
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

/** Hears of jobs that were added to batches. */
export type Registrar = (registration: Registration) => void;

/** What the client reads of it; symbols, because middlewares have no other fields. */
const WINDOW = Symbol("window");
const REGISTRAR = Symbol("registrar");

interface Coordination extends EnqueueMiddleware {
  readonly run?: never;
  readonly [WINDOW]: Window;
  readonly [SILENT]: true;
  /** Undefined: nothing listens, so nothing is told. */
  readonly [REGISTRAR]: Registrar | undefined;
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
    [WINDOW]: windowOf(stability, "batchCoordination"),
    enqueue: () => {},
    [SILENT]: true,
    [REGISTRAR]: onRegistered || logger ? registrar(onRegistered, logger) : undefined,
  };
  return Object.freeze(member);
}

const registrar =
  (onRegistered: Registrar | undefined, logger: Logger | undefined): Registrar =>
  (registration) => {
    logger?.debug(registration, "Job registered in batch");
    onRegistered?.(registration);
  };

/** Of jobs that were stored, those that are new members of a batch. */
export function tellRegistrations(
  tell: Registrar | undefined,
  jobs: readonly { readonly kind: string; readonly batch?: string | undefined }[],
  stored: readonly Enqueued[],
): void {
  if (!tell) return;
  for (const [i, { kind, batch }] of jobs.entries())
    if (batch !== undefined && stored[i]!.created) tell({ job: stored[i]!.id, kind, batch });
}

/** Tells of new members when jobs are stored; undefined: nothing listens. */
export const registrationWatcher = (tell: Registrar | undefined): StoredWatcher | undefined =>
  tell && {
    concerns: ({ batch }) => batch !== undefined,
    stored: (jobs, answers) => tellRegistrations(tell, jobs, answers),
  };

/** Who hears of registrations; undefined: nothing listens. */
export function registrarIn(middlewares: Iterable<EnqueueMiddleware> | undefined): Registrar | undefined {
  for (const member of middlewares ?? [])
    if (member.name === BATCH_COORDINATION) return (member as Coordination)[REGISTRAR];
  return undefined;
}

/** The window for batches that say nothing about it; undefined: the coordination was removed. */
export function windowIn(middlewares: Iterable<EnqueueMiddleware>): Window | undefined {
  for (const member of middlewares) if (member.name === BATCH_COORDINATION) return (member as Coordination)[WINDOW];
  return undefined;
}
