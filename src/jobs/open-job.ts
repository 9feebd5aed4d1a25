// A job as its reader may see it: opened where that is possible. What cannot be opened is shown as it is stored, because a caller that lists
// jobs must not fail on one of them.
import type { ClientContext } from "../core/enqueue/client-context.js";
import { type Codec, openJson, type SealContext } from "../core/job/codec.js";
import { isStored } from "../core/job/content-reference.js";
import { openContent } from "../core/job/stored-content.js";
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

/** With the contents that lie in a storage. What cannot be fetched stays a reference. */
export async function openFetchedJob<Read extends Job>(
  context: Pick<ClientContext, "codec" | "contents">,
  job: Read,
): Promise<Read> {
  const opened = openJob(context.codec, job);
  const whole = (value: unknown, what: "payload" | "result") =>
    isStored(value) ? openContent(context, value, job, what).catch(() => value) : value;
  const [payload, result] = await Promise.all([whole(opened.payload, "payload"), whole(opened.result, "result")]);
  return { ...opened, payload, result };
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
