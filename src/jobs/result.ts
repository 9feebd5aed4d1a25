// The result of a job that has ended, or the error that says why there is none.

import type { Duration } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { checkJobId } from "../base/job-id.js";
import { readable, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { isStored } from "../core/job/content-reference.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { JobFailedError, ResultCancelledError } from "../core/job/result-errors.js";
import { isEnded } from "../core/job/states.js";
import { openContent } from "../core/job/stored-content.js";
import type { JobEnd, SeenJob } from "./read-jobs.js";

export interface ResultOptions {
  /** How long to wait for the end of the job; default "30s". */
  readonly timeout?: Duration;
  /** Ends the waiting, with its reason. */
  readonly signal?: AbortSignal;
}

/** What was asked for: a job by its id or by what enqueue returned, and of which kind it must be, if that was said. */
export interface AskedResult {
  readonly id: string;
  readonly kind: string | undefined;
  readonly options: ResultOptions;
}

export type Asked = string | Enqueued | Pick<JobDefinition, "kind">;

/** `result(id, options)`, `result(enqueued, options)` or `result(definition, id, options)`. */
export function askedResult(of: Asked, second?: unknown, third?: unknown): AskedResult {
  const { id, kind, options } = readable("id", "result", () => {
    const kind = typeof of === "object" && of !== null && "kind" in of ? of.kind : undefined;
    const asked = kind === undefined ? of : (second as string | Enqueued);
    const id = typeof asked === "object" && asked !== null && "id" in asked ? asked.id : asked;
    return { id: checkJobId(id as string), kind, options: (kind === undefined ? second : third) ?? {} };
  });
  refuseUnknown(options, ["timeout", "signal"], "result");
  const { signal } = options as ResultOptions;
  if (signal !== undefined && !readable("signal", "result", () => signal instanceof AbortSignal))
    throw new ConfigError("signal", `result: signal: ${showValue(signal)} is no AbortSignal.`);
  return { id, kind, options };
}

/** There once the job has ended. A caller with the codec gets what was sealed, or the error why not. */
export async function resultOf(
  context: Pick<ClientContext, "codec" | "contents">,
  job: SeenJob,
  kind: string | undefined,
): Promise<{ result: unknown } | undefined> {
  if (kind !== undefined && job.kind !== kind)
    throw new ConfigError("definition", `result: job ${job.id} is of kind "${job.kind}", not of "${kind}".`);
  if (!isEnded(job.state)) return undefined;
  const { error, result } = job as JobEnd;
  if (job.state === "cancelled") throw new ResultCancelledError(job.id, error);
  if (job.state !== "done") throw new JobFailedError(job.id, error);
  if (result === null || (context.codec === undefined && !isStored(result))) return { result };
  return { result: await openContent(context, result, job as JobEnd, "result") };
}
