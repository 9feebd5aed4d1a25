// What a client tells: jobs, why they do not run, their results; tenants, queues and kinds; messages.
import { checkBatchId } from "../model/batch.js";
import { sleep } from "../model/clock.js";
import { openJson } from "../model/codec.js";
import { type Duration, toMs } from "../model/duration.js";
import { FairmillError, JobNotFoundError } from "../model/errors.js";
import { checkJobId } from "../model/job-id.js";
import { checkErrorFilter, ERROR_FIELDS } from "../model/redrive-filter.js";
import { oneOf, refuseUnknown } from "../model/settings.js";
import { isEnded, JOB_STATES } from "../model/states.js";
import {
  MESSAGE_STATUSES,
  type Message,
  type MessageDetail,
  type MessageFilter,
  readMessage,
  readMessages,
} from "../store/outbox.js";
import {
  type KindOverview,
  type NamePage,
  type QueueOverview,
  readKinds,
  readQueues,
  readTenants,
  type TenantOverview,
} from "../store/overviews.js";
import { type Job, type JobDetail, type JobFilter, readJob, readJobDetail, readJobs } from "../store/read-jobs.js";
import { readSteps, type Step } from "../store/steps.js";
import { readWhy, type Why } from "../store/why.js";
import { BaseClient } from "./base-client.js";
import { openJob, openMessage, openStep } from "./open-job.js";

export class ReadingClient extends BaseClient {
  /** The job as it stands, live or ended; undefined when there is none. */
  job(id: string): Promise<JobDetail | undefined> {
    return this.tools.call(async () => {
      const job = await readJobDetail(this.tools.db, checkJobId(id));
      return job && openJob(this.tools.codec, job);
    });
  }

  /** A page of jobs, newest first. */
  async jobs(filter: JobFilter = {}): Promise<Job[]> {
    refuseUnknown(filter, ["state", "queue", "kind", "tenant", "batch", "before", "limit", ...ERROR_FIELDS], "jobs");
    if (filter.state !== undefined) oneOf(filter.state, JOB_STATES, "state", "jobs");
    if (filter.batch !== undefined) checkBatchId(filter.batch);
    if (filter.before !== undefined) checkJobId(filter.before);
    const why = checkErrorFilter(filter);
    return this.tools.call(async () => {
      const page = await readJobs(this.tools.db, filter, why);
      return this.tools.codec === undefined ? page : page.map((job) => openJob(this.tools.codec, job));
    });
  }

  /** Why a job does not run: every gate on its way, passed or not; undefined when there is no such job. */
  why(id: string): Promise<Why | undefined> {
    return this.tools.call(() => readWhy(this.tools.db, checkJobId(id)));
  }

  /** The steps that a job has come to, and the signals it was sent; empty when there are none. */
  steps(id: string): Promise<Step[]> {
    return this.tools.call(async () => {
      const steps = await readSteps(this.tools.db, checkJobId(id));
      const job = this.tools.codec && steps.length > 0 ? await readJob(this.tools.db, id) : undefined;
      return job ? steps.map((step) => openStep(this.tools.codec, job, step)) : steps;
    });
  }

  /** Waits for the job's end and returns its result; throws when it ended otherwise, or when the time is over. */
  async result(id: string, options: { timeout?: Duration } = {}): Promise<unknown> {
    refuseUnknown(options, ["timeout"], "result");
    const endMs = this.tools.clock.monotonic() + toMs(options.timeout ?? "30s", "timeout");
    for (let pauseMs = 10; ; pauseMs = Math.min(500, pauseMs * 1.5)) {
      const job = await this.tools.call(() => readJob(this.tools.db, checkJobId(id)));
      if (!job) throw new JobNotFoundError(id);
      // Who asks for the result and has the codec gets what was sealed, or hears why not.
      if (job.state === "done" && this.tools.codec !== undefined && job.result !== null)
        return openJson(this.tools.codec, job.result, job, "result");
      if (job.state === "done") return job.result;
      if (isEnded(job.state))
        throw new FairmillError(
          "FAIRMILL_JOB_FAILED",
          `Job ${id} ended as ${job.state}${job.error ? `: ${job.error.message}` : "."}`,
        );
      const leftMs = endMs - this.tools.clock.monotonic();
      if (leftMs <= 0)
        throw new FairmillError(
          "FAIRMILL_RESULT_TIMEOUT",
          `Job ${id} is still ${job.state}; it goes on, only the waiting ended.`,
        );
      await sleep(this.tools.clock, Math.min(pauseMs, leftMs));
    }
  }

  /** A page of tenants by name, with their limits and what waits and runs. */
  tenants(page: NamePage = {}): Promise<TenantOverview[]> {
    return this.tools.call(() => readTenants(this.tools.db, page));
  }

  /** A page of queues by name. */
  queues(page: NamePage = {}): Promise<QueueOverview[]> {
    return this.tools.call(() => readQueues(this.tools.db, page));
  }

  /** A page of kinds by name: those that have limits or that a living worker handles. */
  kinds(page: NamePage = {}): Promise<KindOverview[]> {
    return this.tools.call(() => readKinds(this.tools.db, page));
  }

  /** A page of messages, newest first. */
  async outbox(filter: MessageFilter = {}): Promise<Message[]> {
    refuseUnknown(filter, ["status", "channel", "tenant", "before", "limit"], "outbox");
    if (filter.before !== undefined) checkJobId(filter.before);
    if (filter.status !== undefined) oneOf(filter.status, MESSAGE_STATUSES, "status", "outbox");
    return this.tools.call(() => readMessages(this.tools.db, filter));
  }

  /** A message with its attempts and what the receiver said; undefined when there is none. */
  delivery(id: string): Promise<MessageDetail | undefined> {
    return this.tools.call(async () => {
      const message = await readMessage(this.tools.db, checkJobId(id));
      return message && openMessage(this.tools.codec, message);
    });
  }
}
