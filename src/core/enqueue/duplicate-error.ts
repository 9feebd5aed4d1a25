// Why a unique key did not take a job, and how the database says so.
import { FairmillError } from "../../base/errors.js";
import type { RefusalTable } from "../../db/refusals.js";

/** Another job of this tenant and kind has the unique key, and the definition says `onConflict: "refuse"`. Nothing was stored. */
export class DuplicateJobError extends FairmillError {
  override readonly name = "DuplicateJobError";
  /** The job that is there; undefined when both were in the same call. */
  readonly jobId: string | undefined;
  constructor(kind: string, jobId: string | undefined) {
    super(
      "FAIRMILL_DUPLICATE_JOB",
      jobId === undefined
        ? `Two jobs of kind "${kind}" in one call have the same unique key. Nothing was stored.`
        : `Job ${jobId} of kind "${kind}" has the same unique key. Nothing was stored.`,
    );
    this.jobId = jobId;
  }
}

export const duplicateRefusals: RefusalTable = {
  FAIRMILL_DUPLICATE_JOB: ({ kind, job_id }: { readonly kind: string; readonly job_id: string | null }) =>
    new DuplicateJobError(kind, job_id ?? undefined),
};
