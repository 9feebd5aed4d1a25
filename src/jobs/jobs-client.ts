// `client.jobs`: pages of jobs, the steps of one, and a new job like one that has ended.

import { checkJobId } from "../base/job-id.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import { type JobStep, readSteps } from "../steps/step-statements.js";
import { checkJobFilter } from "./job-filter.js";
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

  /** A new job like one that has ended, with other input. The old one stays, and the new one's `rerunOf` names it. */
  rerun<In = unknown>(id: string, options: RerunOptions<In> = {}): Promise<Enqueued> {
    return this.#context.call(async () => rerun(this.#context, checkJobId(id), options));
  }
}
