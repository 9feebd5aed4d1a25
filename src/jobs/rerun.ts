// The edited repetition of a job that has ended: a new job of the same kind, which remembers where it comes from.

import { ConfigError, JobNotEndedError, JobNotFoundError } from "../base/errors.js";
import { refuseUnknown } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { type EnqueueOptions, newJob } from "../core/enqueue/make-job.js";
import { isStored } from "../core/job/content-reference.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import { defineJob, type JobDefinition } from "../core/job/job-definition.js";
import { isEnded } from "../core/job/states.js";
import { openContent } from "../core/job/stored-content.js";
import { DELIVERY_KIND } from "../outbox/delivery.js";
import { DeliveryJobError } from "../outbox/delivery-errors.js";
import { rerunJob } from "./dead-statements.js";
import { readJob } from "./read-jobs.js";

/** What is left out is as it was in the old job; tenant, kind and queue always are. */
export interface RerunOptions<In = unknown> extends Omit<EnqueueOptions, "tenant" | "batch" | "trace"> {
  readonly input?: In;
  /** Validates the input and brings key, attempts and time to live of today. */
  readonly definition?: JobDefinition<In, unknown>;
}

const KNOWN = [
  ...["input", "definition", "priority", "runAt", "delay", "idempotencyKey", "key"],
  ...["attempts", "timeout", "expire", "tags"],
];

export async function rerun<In>(context: ClientContext, id: string, options: RerunOptions<In>): Promise<Enqueued> {
  const { rules, codec, chain, contents } = context;
  refuseUnknown(options, KNOWN, "jobs.rerun");
  const old = await readJob(context, id);
  if (!old) throw new JobNotFoundError(id);
  if (old.kind.startsWith(DELIVERY_KIND)) throw new DeliveryJobError(id);
  if (!isEnded(old.state)) throw new JobNotEndedError(id, old.state);
  const { definition, input, ...how } = options;
  if (definition !== undefined && definition.kind !== old.kind)
    throw new ConfigError("definition", `rerun: job ${id} is of kind "${old.kind}", not of "${definition.kind}".`);
  const job = await newJob(
    definition ?? defineJob<In>({ kind: old.kind }),
    input === undefined ? ((await openContent(context, old.payload, old, "payload")) as In) : input,
    // A sealed payload belongs to its tenant.
    { ...how, tenant: old.tenant },
    codec,
    // What is stored has passed the middlewares before.
    input === undefined ? undefined : chain,
    contents,
  );
  if (job.tenant !== old.tenant)
    throw new ConfigError("tenant", `rerun: a middleware gave job ${id} another tenant, which a rerun cannot have.`);
  if (definition !== undefined) await rules.tell(definition);
  const changes = JSON.stringify({
    key: job.key,
    priority: how.priority,
    run_at: job.runAt,
    delay_ms: job.delayMs,
    idempotency_key: job.idempotencyKey,
    max_attempts: how.attempts ?? definition?.maxAttempts,
    expire_ms: how.expire === undefined ? definition?.expireMs : job.expireMs,
    timeout_ms: job.timeoutMs,
    tags: job.tags,
    content: job.content,
  });
  // The payload is JSON text already, and is not read and written once more: its numbers stay as they are.
  const isSame = input === undefined && !isStored(old.payload);
  const text = isSame ? changes : `{"payload":${job.payload}${changes === "{}" ? "}" : `,${changes.slice(1)}`}`;
  const answer = await rerunJob(context, id, text);
  // Another session was faster than the look above.
  if (answer.answer === "live") throw new JobNotEndedError(id, "live again");
  if (answer.answer === "delivery") throw new DeliveryJobError(id);
  if (answer.answer === "not_found") throw new JobNotFoundError(id);
  return { id: answer.id, created: answer.answer === "stored" };
}
