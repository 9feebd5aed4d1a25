// What a client tells: jobs, why they do not run, their results; tenants, queues and kinds; messages.

import { toMs } from "../base/duration.js";
import { ConfigError, JobNotFoundError } from "../base/errors.js";
import { checkBatchId, checkJobId } from "../base/job-id.js";
import type { JobResult } from "../base/jsonify.js";
import { refuseUnknown } from "../base/settings.js";
import { SharedLook } from "../base/shared-look.js";
import type { BatchState } from "../batches/batch.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { ResultTimeoutError } from "../core/job/result-errors.js";
import { isEnded } from "../core/job/states.js";
import { checkJobFilter } from "../jobs/job-filter.js";
import { openJob, openMessage, openStep } from "../jobs/open-job.js";
import {
  type Job,
  type JobDetail,
  type JobFilter,
  readEnds,
  readJob,
  readJobDetail,
  readJobs,
} from "../jobs/read-jobs.js";
import { type Asked, askedResult, type ResultOptions, resultOf } from "../jobs/result.js";
import { readWhy, type Why, type WhyTarget } from "../jobs/why-statements.js";
import { checkNamePage } from "../limits/name-page.js";
import {
  type KindOverview,
  type NamePage,
  type QueueOverview,
  readKinds,
  readQueues,
  readTenants,
  type TenantOverview,
} from "../limits/overview-statements.js";
import { checkLogFilter, type LogFilter, type LogLine, readLogPage } from "../logs/log-page.js";
import { checkMessageFilter } from "../outbox/message-filter.js";
import {
  type Message,
  type MessageDetail,
  type MessageFilter,
  type MessageStatus,
  readMessage,
  readMessages,
} from "../outbox/outbox-statements.js";
import { readSteps, type Step } from "../steps/step-statements.js";
import { BaseClient } from "./base-client.js";

export class ReadingClient extends BaseClient {
  /** All callers that wait for results look together. */
  readonly #ends = new SharedLook(this.tools.clock, {
    idsMax: 1_000,
    look: (ids) => this.tools.call(() => readEnds(this.tools.db, ids)),
    isOver: ({ state }) => isEnded(state),
  });

  /** The job as it stands, live or ended; undefined when there is none. */
  job(id: string): Promise<JobDetail | undefined> {
    return this.tools.call(async () => {
      const job = await readJobDetail(this.tools.db, checkJobId(id));
      return job && openJob(this.tools.codec, job);
    });
  }

  /** A page of jobs, newest first. */
  async jobs(filter: JobFilter = {}): Promise<Job[]> {
    const { filter: wanted, why } = checkJobFilter(filter);
    return this.tools.call(async () => {
      const page = await readJobs(this.tools.db, wanted, why);
      return this.tools.codec === undefined ? page : page.map((job) => openJob(this.tools.codec, job));
    });
  }

  /**
   * Why a job does not run, a node of a flow does not start, or a message of the outbox is not sent: every gate on its way, passed or not;
   * undefined when there is no such thing.
   */
  why(id: string): Promise<Why | undefined>;
  why(what: { readonly node: string }): Promise<Why<BatchState> | undefined>;
  why(what: { readonly message: string }): Promise<Why<MessageStatus> | undefined>;
  async why(what: string | WhyTarget): Promise<Why<string> | undefined> {
    if (typeof what !== "object" || what === null) {
      const id = checkJobId(what);
      return this.tools.call(() => readWhy(this.tools.db, "job", id));
    }
    refuseUnknown(what, ["node", "message"], "why");
    const [subject, id] = "node" in what ? (["node", what.node] as const) : (["message", what.message] as const);
    if ("node" in what && "message" in what) throw new ConfigError("node", "why: give node or message, not both.");
    const checked = subject === "node" ? checkBatchId(id) : checkJobId(id);
    return this.tools.call(() => readWhy<string>(this.tools.db, subject, checked));
  }

  /** The steps that a job has come to, and the signals it was sent; empty when there are none. */
  steps(id: string): Promise<Step[]> {
    return this.tools.call(async () => {
      const steps = await readSteps(this.tools.db, checkJobId(id));
      const job = this.tools.codec && steps.length > 0 ? await readJob(this.tools.db, id) : undefined;
      return job ? steps.map((step) => openStep(this.tools.codec, job, step)) : steps;
    });
  }

  /** A page of what a job's handler has logged, oldest first; empty when there is nothing. */
  async logs(id: string, filter: LogFilter = {}): Promise<LogLine[]> {
    const job = checkJobId(id);
    const wanted = checkLogFilter(filter);
    return this.tools.call(async () => {
      // A sealed line is bound to the kind and tenant of its job.
      const of = this.tools.codec && (await readJob(this.tools.db, job));
      const { kind, tenant } = of ?? { kind: "", tenant: "" };
      return readLogPage(this.tools.db, { id: job, kind, tenant }, wanted, this.tools.codec);
    });
  }

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
  async result(of: Asked, second?: unknown, third?: unknown): Promise<unknown> {
    const { id, kind, options } = askedResult(of, second, third);
    const job = await this.#ends.wait(id, toMs(options.timeout ?? "30s", "timeout"), options.signal);
    if (!job) throw new JobNotFoundError(id);
    const ended = resultOf(this.tools.codec, job, kind);
    if (!ended) throw new ResultTimeoutError(id, job.state);
    return ended.result;
  }

  /** A page of tenants by name, with their limits and what waits and runs. */
  tenants(page: NamePage = {}): Promise<TenantOverview[]> {
    return this.tools.call(async () => readTenants(this.tools.db, checkNamePage(page, "tenants")));
  }

  /** A page of queues by name. */
  queues(page: NamePage = {}): Promise<QueueOverview[]> {
    return this.tools.call(async () => readQueues(this.tools.db, checkNamePage(page, "queues")));
  }

  /** A page of kinds by name: those that have limits or that a living worker handles. */
  kinds(page: NamePage = {}): Promise<KindOverview[]> {
    return this.tools.call(async () => readKinds(this.tools.db, checkNamePage(page, "kinds")));
  }

  /** A page of messages, newest first. */
  async outbox(filter: MessageFilter = {}): Promise<Message[]> {
    const wanted = checkMessageFilter(filter);
    return this.tools.call(() => readMessages(this.tools.db, wanted));
  }

  /** A message with its attempts and what the receiver said; undefined when there is none. */
  delivery(id: string): Promise<MessageDetail | undefined> {
    return this.tools.call(async () => {
      const message = await readMessage(this.tools.db, checkJobId(id));
      return message && openMessage(this.tools.codec, message);
    });
  }
}
