// The calls of a client that enqueue: one job, a list, a stream.

import { readable } from "../../base/settings.js";
import type { Enqueued, EnqueueOptions } from "../job/enqueue-options.js";
import type { JobDefinition } from "../job/job-definition.js";
import type { ClientContext } from "./client-context.js";
import { type EnqueuedCount, enqueueStream } from "./enqueue-stream.js";
import { newJobs } from "./job-list.js";
import { type EnqueueItem, newJob } from "./make-job.js";

export interface EnqueueCalls {
  /** Stores a job, durably. Concurrent calls of one process share transactions. */
  enqueue<In, Result>(
    definition: JobDefinition<In, unknown, Result>,
    input: In,
    options?: EnqueueOptions,
  ): Promise<Enqueued<Result>>;
  /** Stores many jobs in one transaction. Nothing is stored when one of them is not valid. */
  enqueueMany<In, Result>(
    definition: JobDefinition<In, unknown, Result>,
    items: Iterable<EnqueueItem<In>>,
  ): Promise<Enqueued<Result>[]>;
  /** Stores a stream of jobs, a few thousand at a time, in bounded memory. What was stored before an error stays. */
  enqueueMany<In>(
    definition: JobDefinition<In, unknown>,
    items: AsyncIterable<EnqueueItem<In>>,
  ): Promise<EnqueuedCount>;
}

export function enqueueCalls(context: ClientContext): EnqueueCalls {
  const { codec, chain, contents, rules } = context;

  async function enqueue<In, Result>(
    definition: JobDefinition<In, unknown, Result>,
    input: In,
    options: EnqueueOptions = {},
  ): Promise<Enqueued<Result>> {
    context.begin();
    try {
      const made = newJob(definition, input, options, codec, chain, contents);
      const job = made instanceof Promise ? await made : made;
      const fits = context.fits();
      if (fits) await fits;
      if (!rules.knows(definition)) await context.explained(() => rules.tell(definition));
      return (await context.storeOne(job)) as Enqueued<Result>;
    } finally {
      context.end();
    }
  }

  async function enqueueAll<In>(
    definition: JobDefinition<In, unknown>,
    items: Iterable<EnqueueItem<In>>,
  ): Promise<Enqueued[]> {
    const jobs = await newJobs(definition, items, codec, chain, contents);
    await context.explained(() => rules.tell(definition));
    return context.storeMany(jobs);
  }

  async function enqueueAsTheyCome<In>(
    definition: JobDefinition<In, unknown>,
    items: AsyncIterable<EnqueueItem<In>>,
  ): Promise<EnqueuedCount> {
    await context.explained(() => rules.tell(definition));
    return enqueueStream(context, definition, items);
  }

  // What items and middlewares throw is theirs, and is handed on as it is.
  const enqueueMany = <In>(
    definition: JobDefinition<In, unknown>,
    items: Iterable<EnqueueItem<In>> | AsyncIterable<EnqueueItem<In>>,
  ) =>
    context.during<Enqueued[] | EnqueuedCount>(async () =>
      isStream(items) ? enqueueAsTheyCome(definition, items) : enqueueAll(definition, items),
    );

  return { enqueue, enqueueMany: enqueueMany as EnqueueCalls["enqueueMany"] };
}

/** Whatever is neither a list nor a stream is refused as a list. */
const isStream = <T>(items: Iterable<T> | AsyncIterable<T>): items is AsyncIterable<T> =>
  readable(
    "jobs",
    "enqueueMany",
    () =>
      typeof items === "object" &&
      items !== null &&
      typeof (items as AsyncIterable<T>)[Symbol.asyncIterator] === "function",
  );
