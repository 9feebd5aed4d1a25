// Callbacks of batches and flows as jobs: checked and sealed when they are declared, enqueued by the database when they are due.

import { type JobMakers, newJob } from "../core/enqueue/make-job.js";
import type { NewJob } from "../core/job/enqueue-options.js";
import { CALLBACKS, type Callback, type Callbacks } from "./batch.js";
import type { NewCallbacks } from "./batch-statements.js";

export async function newCallbacks(
  options: Callbacks<unknown, unknown, unknown>,
  tenant: string,
  makers: JobMakers,
): Promise<NewCallbacks> {
  const made: Record<string, NewJob> = {};
  for (const [setting, event] of CALLBACKS) {
    const callback = options[setting];
    if (callback !== undefined) made[event] = await newCallback(callback, tenant, makers);
  }
  return made;
}

async function newCallback(
  { job, input, ...options }: Callback<unknown>,
  tenant: string,
  { rules, codec, chain }: JobMakers,
): Promise<NewJob> {
  await rules.tell(job);
  return plannedJob(await newJob(job, input, { tenant, ...options }, codec, chain));
}

/**
 * A job that is planned now and enqueued later, by name of its batch: it is a job of its own whatever else waits, so its kind's
 * uniqueness does not apply.
 */
export const plannedJob = ({ unique: _, idempotencyKey: __, ...job }: NewJob): NewJob => job;
