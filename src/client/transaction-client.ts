// What a client offers over its own connections and inside a transaction of the caller alike: the parts that the features bring, put together.

import type { Window } from "../batches/batch.js";
import type { BatchEnds } from "../batches/batch-ends.js";
import { Batches } from "../batches/batches-client.js";
import { Flows } from "../batches/flows-client.js";
import { Budgets } from "../budgets/budgets-client.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { type EnqueueCalls, enqueueCalls } from "../core/enqueue/enqueue-calls.js";
import { Credits } from "../credits/credits-client.js";
import { Dead } from "../jobs/dead-client.js";
import { type JobCalls, jobCalls } from "../jobs/job-calls.js";
import { Jobs } from "../jobs/jobs-client.js";
import { Kinds, Queues } from "../limits/limits-client.js";
import { Limits } from "../limits/named-limits-client.js";
import { type PauseCalls, pauseCalls } from "../limits/pause-calls.js";
import { Outbox } from "../outbox/outbox-client.js";
import { type PublishCalls, publishCalls } from "../outbox/publish-calls.js";
import { Providers } from "../providers/providers-client.js";
import { Retention } from "../retention/retention-client.js";
import { TenantsWithErase } from "../retention/tenants-client.js";
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
  readonly budgets: Budgets;
  readonly providers: Providers;
  /** Without `erase`, which is many transactions. */
  readonly tenants: Omit<TenantsWithErase, "erase">;
  readonly queues: Queues;
  readonly kinds: Kinds;
  readonly limits: Limits;
  readonly retention: Retention;
}

/** Over the client's own connections, batches and flows can be waited for, and tenants erased. */
type Composed = Omit<TransactionClient, "batches" | "flows" | "tenants"> & {
  readonly batches: Batches;
  readonly flows: Flows;
  readonly tenants: TenantsWithErase;
};
/** Things that were asked for. */
type Made = { -readonly [Name in Exclude<keyof Composed, keyof Flat>]?: Composed[Name] };
type Flat = EnqueueCalls & PublishCalls & JobCalls & SignalCalls & PauseCalls;

/**
 * `ends`: what waits for the ends of batches; undefined inside a transaction. A client of a transaction is made for nearly every call that is made of
 * it: so it is one literal, and things are made when they are asked for.
 */
export function composed(context: ClientContext, window: Window | undefined, ends: BatchEnds | undefined): Composed {
  const { enqueue, enqueueMany } = enqueueCalls(context);
  const { publish } = publishCalls(context);
  const { job, why, cancel, retry } = jobCalls(context);
  const { signal } = signalCalls(context);
  const { pause, resume } = pauseCalls(context);
  const made: Made = {};
  const batches = () => {
    made.batches ??= new Batches(context, window, ends);
    return made.batches;
  };
  return {
    enqueue,
    enqueueMany,
    publish,
    job,
    why,
    cancel,
    retry,
    signal,
    pause,
    resume,
    get jobs() {
      made.jobs ??= new Jobs(context);
      return made.jobs;
    },
    get dead() {
      made.dead ??= new Dead(context);
      return made.dead;
    },
    get batches() {
      return batches();
    },
    get flows() {
      made.flows ??= new Flows(context, batches());
      return made.flows;
    },
    get schedules() {
      made.schedules ??= new Schedules(context);
      return made.schedules;
    },
    get outbox() {
      made.outbox ??= new Outbox(context);
      return made.outbox;
    },
    get credits() {
      made.credits ??= new Credits(context);
      return made.credits;
    },
    get budgets() {
      made.budgets ??= new Budgets(context);
      return made.budgets;
    },
    get providers() {
      made.providers ??= new Providers(context);
      return made.providers;
    },
    get tenants() {
      made.tenants ??= new TenantsWithErase(context);
      return made.tenants;
    },
    get queues() {
      made.queues ??= new Queues(context);
      return made.queues;
    },
    get kinds() {
      made.kinds ??= new Kinds(context);
      return made.kinds;
    },
    get limits() {
      made.limits ??= new Limits(context);
      return made.limits;
    },
    get retention() {
      made.retention ??= new Retention(context);
      return made.retention;
    },
  };
}
