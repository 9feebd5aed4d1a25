// The call of a client that waits for the result of a job. Not inside transactions: the job may wait for the commit.

import { toMs } from "../base/duration.js";
import { JobNotFoundError } from "../base/errors.js";
import type { JobResult } from "../base/jsonify.js";
import { SharedLook } from "../base/shared-look.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { ResultTimeoutError } from "../core/job/result-errors.js";
import { isEnded } from "../core/job/states.js";
import { readEnds } from "./read-jobs.js";
import { type Asked, askedResult, type ResultOptions, resultOf } from "./result.js";

export interface ResultCalls {
  /**
   * Waits for the job's end and returns its result, typed by what enqueue returned or by the definition. Throws JobFailedError or
   * ResultCancelledError when it ended otherwise, ResultTimeoutError when the time is over.
   */
  result<Result>(enqueued: Enqueued<Result>, options?: ResultOptions): Promise<JobResult<Result>>;
  result<In, Result>(
    definition: JobDefinition<In, unknown, Result>,
    id: string | Enqueued,
    options?: ResultOptions,
  ): Promise<JobResult<Result>>;
  result(id: string, options?: ResultOptions): Promise<unknown>;
}

export function resultCalls(context: ClientContext): ResultCalls {
  /** All callers that wait for results look together. */
  const ends = new SharedLook(context.clock, {
    idsMax: 1_000,
    look: (ids) => context.call(() => readEnds(context, ids)),
    isOver: ({ state }) => isEnded(state),
  });
  const result = async (of: Asked, second?: unknown, third?: unknown): Promise<unknown> => {
    const { id, kind, options } = askedResult(of, second, third);
    const job = await ends.wait(id, toMs(options.timeout ?? "30s", "timeout"), options.signal);
    if (!job) throw new JobNotFoundError(id);
    const ended = await resultOf(context, job, kind);
    if (!ended) throw new ResultTimeoutError(id, job.state);
    return ended.result;
  };
  return { result: result as ResultCalls["result"] };
}
