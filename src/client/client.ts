// The client: what an application uses to enqueue jobs; what it tells and steers is in the classes that it extends.

import { Alerts } from "../alerts/alerts.js";
import { readable } from "../base/settings.js";
import type { BatchOptions, OpenBatchOptions } from "../batches/batch.js";
import {
  type BatchAdder,
  Batches,
  fillBatch,
  type OpenBatch,
  openBatchFor,
  type StoredBatch,
} from "../batches/batches.js";
import type { FlowDefinition } from "../batches/flow.js";
import { Flows, type StartFlowOptions, startFlow } from "../batches/flows.js";
import { type EnqueuedCount, enqueueStream } from "../core/enqueue/enqueue-stream.js";
import { newJobs } from "../core/enqueue/job-list.js";
import { type EnqueueItem, type EnqueueOptions, newJob } from "../core/enqueue/make-job.js";
import type { Enqueued } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { Balance, CreditEntry, StatementPage } from "../credits/credit-statements.js";
import { Credits, type Granted, type GrantOptions } from "../credits/credits.js";
import type { Queryable } from "../db/database.js";
import type { NamePage } from "../limits/overview-statements.js";
import { Metrics } from "../metrics/metrics.js";
import type { ChannelTarget } from "../outbox/channel-target.js";
import { newMessage, type PublishOptions, publish } from "../outbox/publish.js";
import type { Published } from "../outbox/publish-options.js";
import type { Schedule } from "../schedules/schedule-statements.js";
import { type CronSpec, ScheduleBook, type Scheduled, type ScheduleOptions } from "../schedules/schedules.js";
import type { ClientOptions } from "./base-client.js";
import { SteeringClient } from "./steering-client.js";
import { type TransactionClient, transactionClient } from "./transaction-client.js";

export type { ClientOptions };

export class Client extends SteeringClient {
  readonly #credits: Credits;
  readonly #schedules: ScheduleBook;
  /** Batches that were opened: look at them, hold them open, cancel them. */
  readonly batches: Batches;
  /** Flows that were started: look at them, run them again, cancel them. */
  readonly flows: Flows;
  /** Figures of the fleet, lines over time, and what applications report. */
  readonly metrics: Metrics;
  /** What fires, by which rules, and how it is silenced. */
  readonly alerts: Alerts;

  constructor(options: ClientOptions = {}) {
    super(options);
    this.#credits = new Credits(this.tools.ask, (text) => text);
    this.#schedules = new ScheduleBook(this.tools.db, this.tools);
    this.batches = new Batches(this.tools);
    this.flows = new Flows(this.tools);
    this.metrics = new Metrics(this.tools.db, this.tools.call);
    this.alerts = new Alerts(this.tools.db, this.tools.call);
  }

  /** Stores a job, durably. Concurrent calls of one process share transactions. */
  async enqueue<In, Result>(
    definition: JobDefinition<In, unknown, Result>,
    input: In,
    options: EnqueueOptions = {},
  ): Promise<Enqueued<Result>> {
    this.begin();
    try {
      const made = newJob(definition, input, options, this.tools.codec, this.tools.chain);
      const job = made instanceof Promise ? await made : made;
      if (!this.tools.fit.isKnown) await this.tools.fit.check();
      if (!this.tools.rules.knows(definition)) await this.tools.explained(() => this.tools.rules.tell(definition));
      return (await this.tools.sender.one(job)) as Enqueued<Result>;
    } finally {
      this.end();
    }
  }

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
  enqueueMany<In>(
    definition: JobDefinition<In, unknown>,
    items: Iterable<EnqueueItem<In>> | AsyncIterable<EnqueueItem<In>>,
  ): Promise<Enqueued[] | EnqueuedCount> {
    // What items and middlewares throw is theirs, and is handed on as it is.
    return this.tools.during<Enqueued[] | EnqueuedCount>(() =>
      isStream(items) ? this.#enqueueStream(definition, items) : this.#enqueueAll(definition, items),
    );
  }

  async #enqueueAll<In>(definition: JobDefinition<In, unknown>, items: Iterable<EnqueueItem<In>>): Promise<Enqueued[]> {
    const jobs = await newJobs(definition, items, this.tools.codec, this.tools.chain);
    await this.tools.explained(() => this.tools.rules.tell(definition));
    return this.tools.sender.many(jobs);
  }

  async #enqueueStream<In>(
    definition: JobDefinition<In, unknown>,
    items: AsyncIterable<EnqueueItem<In>>,
  ): Promise<EnqueuedCount> {
    await this.tools.explained(() => this.tools.rules.tell(definition));
    return enqueueStream(this.tools.sender, this.tools.codec, definition, items, this.tools.chain);
  }

  /** The same calls inside the caller's transaction: `await client.in(tx).enqueue(job, input)`. */
  in(tx: Queryable): TransactionClient {
    return transactionClient(tx, this.tools);
  }

  /** Stores jobs that end together, with callbacks: everything that `fill` adds, or nothing. */
  batch<Success, Complete, Death>(
    options: BatchOptions<Success, Complete, Death>,
    fill: (batch: BatchAdder) => unknown,
  ): Promise<StoredBatch> {
    return fillBatch(this.tools, options as BatchOptions, fill);
  }

  /** Opens a batch that others add to, from anywhere, until it is closed. */
  openBatch<Success, Complete, Death>(options: OpenBatchOptions<Success, Complete, Death> = {}): Promise<OpenBatch> {
    return openBatchFor(this.tools, options as OpenBatchOptions, this.tools.window);
  }

  /** Starts a flow: all its nodes are stored, and those that wait for nobody begin. */
  flow<In>(
    definition: FlowDefinition<In>,
    input: In,
    options: StartFlowOptions = {},
  ): Promise<{ readonly id: string }> {
    return startFlow(this.tools, definition, input, options);
  }

  /**
   * Stores a message for a receiver outside of the database, durably, with the job that delivers it. The same key for the same tenant and
   * channel is one message, however often it is published.
   */
  publish<In>(channel: string | ChannelTarget<In>, message: In, options: PublishOptions): Promise<Published> {
    return this.tools.call(async () => {
      const checked = await newMessage(channel, message, options, this.tools.codec);
      if (typeof channel !== "string") await this.tools.rules.tell(channel.definition);
      return publish(this.tools.ask, this.tools.clock, checked);
    });
  }

  /** Declares a schedule: a job by the clock. The same again changes nothing, so call it at every start, from every process. */
  schedule<In>(name: string, options: ScheduleOptions<In>): Promise<Scheduled> {
    return this.tools.call(() => this.#schedules.declare(name, options));
  }

  /** Removes a schedule; the jobs that it made stay. False: there was none. */
  unschedule(name: string): Promise<boolean> {
    return this.tools.call(() => this.#schedules.remove(name));
  }

  /** A page of schedules by name, with their next runs. */
  schedules(page: NamePage = {}): Promise<Schedule[]> {
    return this.tools.call(async () => this.#schedules.list(page));
  }

  /** When a schedule, or an expression that is none yet, ticks next. */
  nextRuns(what: string | CronSpec, count = 5): Promise<Date[]> {
    return this.tools.call(() => this.#schedules.nextRuns(what, count));
  }

  /** Makes no more jobs by this schedule. What it would have done until it is resumed is not made up for. */
  pauseSchedule(name: string): Promise<void> {
    return this.tools.call(() => this.#schedules.pause(name));
  }

  resumeSchedule(name: string): Promise<void> {
    return this.tools.call(() => this.#schedules.resume(name));
  }

  /** Enqueues the job of a schedule now; its ticks stay as they are. */
  runSchedule(name: string): Promise<Enqueued> {
    return this.tools.call(() => this.#schedules.run(name));
  }

  /** Gives credits to an account, which is made if it does not exist. */
  async grant(account: string, amount: number, options?: GrantOptions): Promise<Granted> {
    return this.tools.call(async () => this.#credits.grant(account, amount, options));
  }

  /** What an account has free, and what jobs hold of it. */
  async balance(account: string): Promise<Balance> {
    return this.tools.call(() => this.#credits.balance(account));
  }

  /** The movements of an account, newest first. */
  async statement(account: string, page: StatementPage = {}): Promise<CreditEntry[]> {
    return this.tools.call(async () => this.#credits.statement(account, page));
  }
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

export const createClient = (options?: ClientOptions): Client => new Client(options);
