// The calls of a client about one job: look at it, ask why it does not run, cancel it, run it again.

import { ConfigError } from "../base/errors.js";
import { checkBatchId, checkJobId } from "../base/job-id.js";
import { refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { BatchState } from "../batches/batch.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import type { MessageStatus } from "../outbox/outbox-statements.js";
import { type CancelAnswer, cancelJob, type RetryAnswer, retryFromStart, retryJob } from "./control-jobs.js";
import { openFetchedJob } from "./open-job.js";
import { type JobDetail, readJobDetail } from "./read-jobs.js";
import { readWhy, type Why, type WhyTarget } from "./why-statements.js";

export interface RetryOptions {
  /** Forget the steps that the job has finished; default: go on behind them. */
  readonly fromStart?: boolean;
}

export interface JobCalls {
  /** The job as it stands, live or ended; undefined when there is none. */
  job(id: string): Promise<JobDetail | undefined>;
  /**
   * Why a job does not run, a node of a flow does not start, or a message of the outbox is not sent: every check on its way, passed or not;
   * undefined when there is no such thing.
   */
  why(id: string): Promise<Why | undefined>;
  why(what: { readonly node: string }): Promise<Why<BatchState> | undefined>;
  why(what: { readonly message: string }): Promise<Why<MessageStatus> | undefined>;
  /** Cancels a job: at once when it waits ("cancelled"), by its signal when it runs ("requested"). */
  cancel(id: string): Promise<CancelAnswer>;
  /** Runs a dead or cancelled job again, or a waiting one now: behind its finished steps, or `fromStart` without any. */
  retry(id: string, options?: RetryOptions): Promise<RetryAnswer>;
}

export const jobCalls = (context: ClientContext): JobCalls => ({
  job: (id) =>
    context.call(async () => {
      const job = await readJobDetail(context, checkJobId(id));
      return job && openFetchedJob(context, job);
    }),
  why: ((what: string | WhyTarget) => whyOf(context, what)) as JobCalls["why"],
  cancel: (id) => context.call(async () => cancelJob(context, checkJobId(id))),
  retry: async (id, options = {}) => {
    refuseUnknown(options, ["fromStart"], "retry");
    if (options.fromStart !== undefined && typeof options.fromStart !== "boolean")
      throw new ConfigError(
        "fromStart",
        `retry: fromStart: ${showValue(options.fromStart)} is neither true nor false.`,
      );
    return context.call(async () =>
      options.fromStart ? retryFromStart(context, checkJobId(id)) : retryJob(context, checkJobId(id)),
    );
  },
});

async function whyOf(context: ClientContext, what: string | WhyTarget): Promise<Why<string> | undefined> {
  if (typeof what !== "object" || what === null) {
    const id = checkJobId(what);
    return context.call(() => readWhy(context, "job", id));
  }
  refuseUnknown(what, ["node", "message"], "why");
  const [subject, id] = "node" in what ? (["node", what.node] as const) : (["message", what.message] as const);
  if ("node" in what && "message" in what) throw new ConfigError("node", "why: give node or message, not both.");
  const checked = subject === "node" ? checkBatchId(id) : checkJobId(id);
  return context.call(() => readWhy<string>(context, subject, checked));
}
