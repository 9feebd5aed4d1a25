// What a client offers over its own connections and inside a transaction of the caller alike: the parts that the features bring, put together.

import type { Window } from "../batches/batch.js";
import type { BatchEnds } from "../batches/batch-ends.js";
import { Batches } from "../batches/batches-client.js";
import { Flows } from "../batches/flows-client.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { type EnqueueCalls, enqueueCalls } from "../core/enqueue/enqueue-calls.js";
import { Credits } from "../credits/credits-client.js";
import { Dead } from "../jobs/dead-client.js";
import { type JobCalls, jobCalls } from "../jobs/job-calls.js";
import { Jobs } from "../jobs/jobs-client.js";
import { Kinds, Queues, Tenants } from "../limits/limits-client.js";
import { type PauseCalls, pauseCalls } from "../limits/pause-calls.js";
import { Outbox } from "../outbox/outbox-client.js";
import { type PublishCalls, publishCalls } from "../outbox/publish-calls.js";
import { Schedules } from "../schedules/schedules-client.js";
import { type SignalCalls, signalCalls } from "../steps/signal-calls.js";

/**
 * The calls of a client inside a transaction of the caller, over the caller's connection alone: what they write exists when the transaction
 * commits, and never did when it does not.
 */
export interface TransactionClient extends EnqueueCalls, PublishCalls, JobCalls, SignalCalls, PauseCalls {
  readonly jobs: Jobs;
  readonly dead: Dead;
  /** Without `wait`: what a transaction waits for may wait for the transaction. */
  readonly batches: Omit<Batches, "wait">;
  readonly flows: Omit<Flows, "wait">;
  readonly schedules: Schedules;
  readonly outbox: Outbox;
  readonly credits: Credits;
  readonly tenants: Tenants;
  readonly queues: Queues;
  readonly kinds: Kinds;
}

/** `ends`: what waits for the ends of batches; undefined inside a transaction. */
export function composed(context: ClientContext, window: Window | undefined, ends: BatchEnds | undefined) {
  const batches = new Batches(context, window, ends);
  return {
    ...enqueueCalls(context),
    ...publishCalls(context),
    ...jobCalls(context),
    ...signalCalls(context),
    ...pauseCalls(context),
    jobs: new Jobs(context),
    dead: new Dead(context),
    batches,
    flows: new Flows(context, batches),
    schedules: new Schedules(context),
    outbox: new Outbox(context),
    credits: new Credits(context),
    tenants: new Tenants(context),
    queues: new Queues(context),
    kinds: new Kinds(context),
  } satisfies TransactionClient;
}
