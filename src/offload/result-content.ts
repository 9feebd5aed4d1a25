// A result that is too large for its row: put into the storage by the process that ran the job, before the job is settled. What is settled is the
// reference, and where the file lies is noted with it.
import type { ContentPlace } from "../core/job/content-reference.js";
import type { VerdictDetailWriter } from "../core/settle/verdict-details.js";

declare module "../core/job/outcome.js" {
  interface VerdictDetails {
    /** Where the result lies. */
    readonly content?: ContentPlace;
  }
}

export const contentWriter: VerdictDetailWriter<ContentPlace> = {
  text: ({ storage, key }) => JSON.stringify({ storage, key }),
  bare: (place) => place,
};
