// What is enqueued when a message has its end: a job of a kind that its channel names. The database enqueues it, in the transaction that ends the message, so
// workers say at their start which kind that is.
import { ConfigError } from "../base/errors.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { Session } from "../db/session.js";
import { DELIVERY_KIND } from "./delivery.js";

/** What the job gets: how a message ended. */
export interface MessageEnd {
  /** unknown: it may have arrived; an operator resolves it, and the job is enqueued once more, with what that came to. */
  readonly outcome: "delivered" | "failed" | "unknown";
  /** The message's; of one that failed: "failed", or "skipped" where its delivery was cancelled. */
  readonly status: "sent" | "failed" | "skipped" | "unknown";
  /** `client.outbox.get(messageId)` has the message itself, for as long as it is kept. */
  readonly messageId: string;
  readonly channel: string;
  readonly tenant: string;
  readonly idempotencyKey: string;
  /** As the publisher said it; of a message of a handler, unless it said another one, the id of its job. Null: it said none. */
  readonly reference: string | null;
}

/** As the database enqueues it. Data, so that it crosses processes with the definition of the channel's deliveries. */
export interface EndJob {
  readonly kind: string;
  readonly queue: string;
  readonly priority: number;
  readonly max_attempts: number;
  readonly timeout_ms: number;
  readonly expire_ms?: number;
}

declare module "../core/job/job-definition.js" {
  interface JobDefinition<In, Out, Result, Returned> {
    /** Of a delivery: what is enqueued when its message has its end. */
    readonly atEnd?: EndJob | undefined;
  }
}

export function endJobOf(job: JobDefinition<MessageEnd> | undefined, where: string): EndJob | undefined {
  if (job === undefined) return undefined;
  if (typeof job?.kind !== "string" || job.kind.startsWith(DELIVERY_KIND) || typeof job.queue !== "string")
    throw new ConfigError("onEnd", `${where}: onEnd must be made by defineJob<MessageEnd>({ kind: "…" }).`);
  if (job.credits !== undefined || job.uses !== undefined)
    throw new ConfigError(
      "onEnd",
      `${where}: onEnd: the end of a message enqueues "${job.kind}", and waits for nothing: it can neither reserve credits nor use named limits.`,
    );
  const { kind, queue, priority, maxAttempts, timeoutMs, expireMs } = job;
  return {
    ...{ kind, queue, priority, max_attempts: maxAttempts, timeout_ms: timeoutMs },
    ...(expireMs !== undefined && { expire_ms: expireMs }),
  };
}

/** Of channels that enqueue nothing, whatever was said before is taken away. */
export async function tellEnds(db: Session, definitions: readonly JobDefinition[]): Promise<void> {
  const ends = definitions
    .filter(({ kind }) => kind.startsWith(DELIVERY_KIND))
    .map(({ kind, atEnd }) => [kind.slice(DELIVERY_KIND.length), atEnd ?? null] as const);
  if (ends.length > 0)
    await db.query("select fairmill.define_channels_v1($1)", [JSON.stringify(Object.fromEntries(ends))]);
}
