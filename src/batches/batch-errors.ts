// Why a batch did not take a job, and how the database says so.
import { FairmillError } from "../base/errors.js";
import type { RefusalTable } from "../db/refusals.js";

/** A job was not taken: its batch takes no more. */
export class BatchEndedError extends FairmillError {
  override readonly name = "BatchEndedError";
  readonly batch: string;
  constructor(batch: string) {
    super(
      "FAIRMILL_BATCH_ENDED",
      `Batch ${batch} takes no more jobs: it is over, is being cancelled, has not started, or does not exist. Add to it from one of its jobs, or hold it open meanwhile.`,
    );
    this.batch = batch;
  }
}

export const batchRefusals: RefusalTable = {
  FAIRMILL_BATCH_ENDED: ({ batch }: { readonly batch: string }) => new BatchEndedError(batch),
};
