// Jobs that are added to batches, told to whoever wants to hear of them once they are stored. The waiting for registrations that are still on
// their way is done by the database: upkeep looks at the batch when its window is over, so no capacity of a worker is used meanwhile.

import type { Logger } from "../base/log.js";
import type { StoredWatcher } from "../core/enqueue/sender.js";
import type { Enqueued } from "../core/job/enqueue-options.js";

export interface Registration {
  /** Null: of a job that a handler asks for, which is stored when its own job is settled. */
  readonly job: string | null;
  readonly kind: string;
  readonly batch: string;
}

/** Hears of jobs that were added to batches. */
export type Registrar = (registration: Registration) => void;

/** Undefined: nothing listens, so nothing is told. */
export function registrarOf(onRegistered: Registrar | undefined, logger: Logger | undefined): Registrar | undefined {
  if (onRegistered === undefined && logger === undefined) return undefined;
  return (registration) => {
    logger?.debug(registration, "Job registered in batch");
    onRegistered?.(registration);
  };
}

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
