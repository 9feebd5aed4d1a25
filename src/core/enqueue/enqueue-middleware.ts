// Middlewares at enqueue: each sees every job before it is validated, sealed and stored, one by one also where many leave together. A
// fold: what one returns, the next one sees. Synchronous where all of them are.

import { isThenable } from "../../base/thenable.js";
import type { EnqueueOptions } from "../job/enqueue-options.js";
import { type Adds, MiddlewareError } from "../job/middleware-list.js";

/** A job as the caller gave it, with what middlewares before made of it. */
export interface JobDraft {
  readonly kind: string;
  readonly queue: string;
  readonly input: unknown;
  readonly options: EnqueueOptions;
}

/** What a middleware changes; what is left out stays. */
export type JobChange = Partial<JobDraft>;

/** The part that runs at enqueue. */
export interface EnqueueMiddleware extends Adds<unknown> {
  readonly name: string;
  /** Returns what is to be changed, or nothing. What it throws, the caller of enqueue gets, and nothing is stored. */
  readonly enqueue?: (job: JobDraft) => JobChange | undefined | void | Promise<JobChange | undefined | void>;
  readonly run?: unknown;
}

export type EnqueueChain = (job: JobDraft) => JobDraft | Promise<JobDraft>;

type Step = EnqueueMiddleware & Required<Pick<EnqueueMiddleware, "enqueue">>;

/** All that have a part at enqueue; undefined when there are none, so that nobody pays for them. */
export function enqueueChain(middlewares: Iterable<EnqueueMiddleware> | undefined): EnqueueChain | undefined {
  const steps = [...(middlewares ?? [])].filter((one): one is Step => one.enqueue !== undefined);
  return steps.length === 0 ? undefined : (job) => fold(steps, 0, freeze(job));
}

function fold(steps: readonly Step[], from: number, job: JobDraft): JobDraft | Promise<JobDraft> {
  let draft = job;
  for (let i = from; i < steps.length; i++) {
    const step = steps[i]!;
    const change: unknown = step.enqueue(draft);
    if (isThenable(change))
      return Promise.resolve(change).then((later) => fold(steps, i + 1, changed(step.name, draft, later)));
    draft = changed(step.name, draft, change);
  }
  return draft;
}

function changed(name: string, job: JobDraft, change: unknown): JobDraft {
  if (change === undefined) return job;
  if (typeof change !== "object" || change === null)
    throw new MiddlewareError(name, "returned from enqueue what is no change: return { input } or { options }");
  for (const key of Object.keys(change))
    if (!(key in job)) throw new MiddlewareError(name, `returned "${key}", which no job has at enqueue`);
  const next: JobDraft = { ...job, ...change };
  if (next.kind !== job.kind || next.queue !== job.queue)
    throw new MiddlewareError(name, "cannot give a job another kind or queue: its definition has them");
  if (typeof next.options !== "object" || next.options === null)
    throw new MiddlewareError(name, "returned options that are none: leave them out, or return an object");
  return freeze(next);
}

/** The caller's own objects are copied: who wants a change returns it. */
const freeze = (job: JobDraft): JobDraft => Object.freeze({ ...job, options: Object.freeze({ ...job.options }) });
