// A job as its reader may see it: opened where that is possible. What cannot be opened is shown as it is stored, because whoever lists
// jobs must not fail on one of them.
import { type Codec, openJson, type SealContext } from "../core/job/codec.js";
import type { JobStep } from "../steps/step-statements.js";
import type { Job } from "./read-jobs.js";

export function openJob<Read extends Job>(codec: Codec | undefined, job: Read): Read {
  if (codec === undefined) return job;
  return {
    ...job,
    payload: opened(codec, job.payload, job, "payload"),
    progress: opened(codec, job.progress, job, "progress"),
    result: opened(codec, job.result, job, "result"),
  };
}

export const openStep = (codec: Codec | undefined, job: Job, step: JobStep): JobStep => ({
  ...step,
  result: opened(codec, step.result, job, "step"),
});

function opened(
  codec: Codec | undefined,
  stored: unknown,
  job: Pick<Job, "kind" | "tenant">,
  what: SealContext["what"],
): unknown {
  if (stored === null) return null;
  try {
    return openJson(codec, stored, job, what);
  } catch {
    return stored;
  }
}
