// `client.jobs`: pages of jobs, the steps and the log of one, a token for one, and a new job like one that has ended.

import { checkJobId } from "../base/job-id.js";
import { refuseUnknown } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import { checkLogFilter, type LogFilter, type LogLine, readLogPage } from "../logs/log-page.js";
import { type JobStep, readSteps } from "../steps/step-statements.js";
import { type RunNowAnswer, runJobNow } from "./control-jobs.js";
import { checkJobFilter } from "./job-filter.js";
import { createJobToken, type JobToken, type JobTokenOptions } from "./job-token.js";
import { openJob, openStep } from "./open-job.js";
import { type Job, type JobFilter, readJob, readJobs } from "./read-jobs.js";
import { type RerunOptions, rerun } from "./rerun.js";

export class Jobs {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** A page of jobs, newest first. */
  async list(filter: JobFilter = {}): Promise<Job[]> {
    const { codec, call } = this.#context;
    const { filter: wanted, why } = checkJobFilter(filter);
    return call(async () => {
      const page = await readJobs(this.#context, wanted, why);
      return codec === undefined ? page : page.map((job) => openJob(codec, job));
    });
  }

  /** The steps that a job has come to, and the signals it was sent; empty when there are none. */
  steps(id: string): Promise<JobStep[]> {
    const { codec, call } = this.#context;
    return call(async () => {
      const steps = await readSteps(this.#context, checkJobId(id));
      const job = codec && steps.length > 0 ? await readJob(this.#context, id) : undefined;
      return job ? steps.map((step) => openStep(codec, job, step)) : steps;
    });
  }

  /** A page of what a job's handler has logged, oldest first; empty when there is nothing. */
  async logs(id: string, filter: LogFilter = {}): Promise<LogLine[]> {
    const { codec, call } = this.#context;
    const job = checkJobId(id);
    const wanted = checkLogFilter(filter);
    return call(async () => {
      // A sealed line is bound to the kind and tenant of its job.
      const of = codec && (await readJob(this.#context, job));
      const { kind, tenant } = of ?? { kind: "", tenant: "" };
      return readLogPage(this.#context, { id: job, kind, tenant }, wanted, codec);
    });
  }

  /** A token with which a browser may read this job over HTTP, its state, progress and result, and nothing else. Asks no database. */
  async token(id: string, options: Omit<JobTokenOptions, "clock"> = {}): Promise<JobToken> {
    refuseUnknown(options, ["for", "secret"], "jobs.token");
    return createJobToken(id, { ...options, clock: this.#context.clock });
  }

  /**
   * Runs a waiting job now although its tenant, queue or kind is paused; a delayed one is due. Its other limits hold, and the other jobs stay. For one
   * start: a retry waits like any other. Safe to repeat.
   */
  runNow(id: string): Promise<RunNowAnswer> {
    return this.#context.call(async () => runJobNow(this.#context, checkJobId(id)));
  }

  /** A new job like one that has ended, with other input. The old one stays, and the new one's `rerunOf` names it. */
  rerun<In = unknown>(id: string, options: RerunOptions<In> = {}): Promise<Enqueued> {
    return this.#context.call(async () => rerun(this.#context, checkJobId(id), options));
  }
}
