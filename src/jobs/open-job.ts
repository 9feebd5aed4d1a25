// A job as its reader may see it: opened where that is possible. What cannot be opened is shown as it is stored, because whoever lists
// jobs must not fail on one of them.
import { type Codec, openJson, type SealContext } from "../core/job/codec.js";
import { DELIVERY_KIND } from "../outbox/delivery.js";
import type { MessageDetail } from "../outbox/outbox-statements.js";
import type { Step } from "../steps/step-statements.js";
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

export const openStep = (codec: Codec | undefined, job: Job, step: Step): Step => ({
  ...step,
  result: opened(codec, step.result, job, "step"),
});

/** A message is sealed as the payload of its delivery job would be, and the receiver's answer as its result. */
export function openMessage(codec: Codec | undefined, message: MessageDetail): MessageDetail {
  if (codec === undefined) return message;
  const owner = { kind: DELIVERY_KIND + message.channel, tenant: message.tenant };
  return {
    ...message,
    payload: opened(codec, message.payload, owner, "payload"),
    answer: opened(codec, message.answer, owner, "result"),
  };
}

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
