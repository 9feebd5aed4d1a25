// A job as its reader may see it: opened where that is possible. What cannot be opened is shown as it is stored, because whoever lists
// jobs must not fail on one of them.
import { type Codec, openJson, type SealContext } from "../model/codec.js";
import type { Job } from "../store/read-jobs.js";

export function openJob<Read extends Job>(codec: Codec | undefined, job: Read): Read {
  if (codec === undefined) return job;
  const opened = (stored: unknown, what: SealContext["what"]) => {
    if (stored === null) return null;
    try {
      return openJson(codec, stored, job, what);
    } catch {
      return stored;
    }
  };
  return {
    ...job,
    payload: opened(job.payload, "payload"),
    progress: opened(job.progress, "progress"),
    result: opened(job.result, "result"),
  };
}
