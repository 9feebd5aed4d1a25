// The client: what an application uses to enqueue jobs, to look at them and to steer them.
import type { BatchOptions, OpenBatchOptions, Window } from "../model/batch.js";
import type { ChannelTarget } from "../model/channel.js";
import { type Clock, sleep, systemClock } from "../model/clock.js";
import { type Codec, checkCodec, openJson } from "../model/codec.js";
import { type Duration, toMs } from "../model/duration.js";
import { FairmillError, JobNotFoundError, MessageNotFoundError } from "../model/errors.js";
import type { FlowDefinition } from "../model/flow.js";
import type { JobDefinition } from "../model/job-definition.js";
import { checkJobId } from "../model/job-id.js";
import {
  checkGateName,
  checkGateSettings,
  type GateName,
  type GateScope,
  type GateSettings,
  type TenantSettings,
} from "../model/limits.js";
import type { Enqueued } from "../model/new-job.js";
import type { Published } from "../model/new-message.js";
import { checkErrorFilter, ERROR_FIELDS, type RedriveFilter } from "../model/redrive-filter.js";
import { nameOf, refuseUnknown } from "../model/settings.js";
import { isEnded } from "../model/states.js";
import { type CancelAnswer, cancelJob, type RetryAnswer, retryFromStart, retryJob } from "../store/control-jobs.js";
import type { Balance, CreditEntry, StatementPage } from "../store/credits.js";
import { Database, type Pool, type Queryable } from "../store/database.js";
import { explainFailure } from "../store/failures.js";
import { setGate } from "../store/limits.js";
import { migrate, pendingMigrations } from "../store/migrate.js";
import {
  type Message,
  type MessageDetail,
  type MessageFilter,
  type ResolveAnswer,
  readMessage,
  readMessages,
  resolveMessage,
} from "../store/outbox.js";
import {
  type KindOverview,
  type NamePage,
  type QueueOverview,
  readKinds,
  readQueues,
  readTenants,
  type TenantOverview,
} from "../store/overviews.js";
import { type Job, type JobDetail, type JobFilter, readJob, readJobDetail, readJobs } from "../store/read-jobs.js";
import type { Schedule } from "../store/schedules.js";
import { readSteps, type SignalAnswer, type Step, sendSignal } from "../store/steps.js";
import { readWhy, type Why } from "../store/why.js";
import { windowIn } from "./batch-coordination.js";
import {
  type BatchAdder,
  Batches,
  type BatchTools,
  fillBatch,
  type OpenBatch,
  openBatchFor,
  type StoredBatch,
} from "./batches.js";
import { Credits, type Granted, type GrantOptions } from "./credits.js";
import { usedBy } from "./default-chain.js";
import { Flows, type StartFlowOptions, startFlow } from "./flows.js";
import { KeyRules } from "./key-rules.js";
import { type EnqueueChain, type EnqueueMiddleware, enqueueChain } from "./middleware.js";
import { type EnqueueItem, type EnqueueOptions, newJob, newJobs } from "./new-job.js";
import { openJob, openMessage, openStep } from "./open-job.js";
import { newMessage, type PublishOptions, publish, type ResolveOptions } from "./publish.js";
import { previewRedrive, type Redriven, type RedriveOptions, type RedrivePreview, redrive } from "./redrive.js";
import { type RerunOptions, rerun } from "./rerun.js";
import { type CronSpec, ScheduleBook, type Scheduled, type ScheduleOptions } from "./schedules.js";
import { Sender } from "./sender.js";
import { checkSignal, sealSignal } from "./signals.js";
import { type EnqueuedCount, enqueueStream } from "./stream.js";
import { type TransactionClient, transactionClient } from "./transaction-client.js";

export interface ClientOptions {
  /** PostgreSQL's address; default DATABASE_URL. */
  readonly databaseUrl?: string;
  /** Or a `pg` pool of yours. */
  readonly db?: Pool;
  /** Default "fairmill". */
  readonly schema?: string;
  /** Connections of the client's own pool; default 10. */
  readonly connectionsMax?: number;
  /** Seals what is enqueued and opens what is read; default: nothing is sealed. */
  readonly codec?: Codec;
  /** Middlewares: those with a part at enqueue see every job before it is stored, in this order. */
  readonly use?: Iterable<EnqueueMiddleware>;
  /** For tests. */
  readonly clock?: Clock;
}

export class Client {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #codec: Codec | undefined;
  readonly #chain: EnqueueChain | undefined;
  /** For open batches that say nothing about it. */
  readonly #window: Window | undefined;
  readonly #sender: Sender;
  readonly #rules: KeyRules;
  readonly #credits: Credits;
  readonly #schedules: ScheduleBook;
  readonly #batchTools: BatchTools;
  /** Batches that were opened: look at them, hold them open, cancel them. */
  readonly batches: Batches;
  /** Flows that were started: look at them, run them again, cancel them. */
  readonly flows: Flows;
  /** The database in the shape of a transaction. */
  readonly #ask: Queryable;
  /** Calls that have begun and not ended: closing waits for them. */
  #underWay = 0;
  #whenIdle: (() => void)[] = [];
  #closed: Promise<void> | undefined;

  constructor(options: ClientOptions = {}) {
    refuseUnknown(options, ["databaseUrl", "db", "schema", "connectionsMax", "codec", "use", "clock"], "createClient");
    this.#codec = checkCodec(options.codec);
    const middlewares = usedBy(options.use);
    this.#window = windowIn(middlewares);
    this.#chain = enqueueChain(middlewares);
    this.#db = new Database(options, {
      connectionsMax: options.connectionsMax ?? 10,
      applicationName: "fairmill client",
    });
    this.#clock = options.clock ?? systemClock;
    this.#sender = new Sender(this.#db, this.#clock);
    this.#rules = new KeyRules(this.#db);
    this.#ask = { query: async (text, values) => ({ rows: await this.#db.query(text, values) }) };
    this.#credits = new Credits(this.#ask, (text) => text);
    this.#batchTools = {
      db: this.#db,
      clock: this.#clock,
      rules: this.#rules,
      codec: this.#codec,
      chain: this.#chain,
      sender: this.#sender,
      call: (work) => this.#call(work),
    };
    this.#schedules = new ScheduleBook(this.#db, this.#batchTools);
    this.batches = new Batches(this.#batchTools);
    this.flows = new Flows(this.#batchTools);
  }

  /** Brings the schema up to date; safe to call at every start, from several processes at once. Returns what was applied. */
  migrate(): Promise<string[]> {
    return this.#call(() => migrate(this.#db));
  }

  /** What `migrate` would apply. */
  pendingMigrations(): Promise<string[]> {
    return this.#call(() => pendingMigrations(this.#db));
  }

  /** Stores a job, durably. Concurrent calls of one process share transactions. */
  async enqueue<In>(
    definition: JobDefinition<In, unknown>,
    input: In,
    options: EnqueueOptions = {},
  ): Promise<Enqueued> {
    this.#begin();
    try {
      const job = newJob(definition, input, options, this.#codec, this.#chain);
      if (!this.#rules.knows(definition)) await this.#rules.tell(definition);
      return await this.#sender.one(job instanceof Promise ? await job : job);
    } finally {
      this.#end();
    }
  }

  /** Stores many jobs in one transaction. Nothing is stored when one of them is not valid. */
  enqueueMany<In>(definition: JobDefinition<In, unknown>, items: Iterable<EnqueueItem<In>>): Promise<Enqueued[]>;
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
    return this.#during<Enqueued[] | EnqueuedCount>(() =>
      Symbol.asyncIterator in items ? this.#enqueueStream(definition, items) : this.#enqueueAll(definition, items),
    );
  }

  async #enqueueAll<In>(definition: JobDefinition<In, unknown>, items: Iterable<EnqueueItem<In>>): Promise<Enqueued[]> {
    const jobs = await newJobs(definition, items, this.#codec, this.#chain);
    await this.#explained(() => this.#rules.tell(definition));
    return jobs.length === 0 ? [] : this.#sender.many(jobs);
  }

  async #enqueueStream<In>(
    definition: JobDefinition<In, unknown>,
    items: AsyncIterable<EnqueueItem<In>>,
  ): Promise<EnqueuedCount> {
    await this.#explained(() => this.#rules.tell(definition));
    return enqueueStream(this.#sender, this.#codec, definition, items, this.#chain);
  }

  /** Stores jobs that end together, with callbacks: everything that `fill` adds, or nothing. */
  batch<Success, Complete, Death>(
    options: BatchOptions<Success, Complete, Death>,
    fill: (batch: BatchAdder) => unknown,
  ): Promise<StoredBatch> {
    return fillBatch(this.#batchTools, options as BatchOptions, fill);
  }

  /** Opens a batch that others add to, from anywhere, until it is closed. */
  openBatch<Success, Complete, Death>(options: OpenBatchOptions<Success, Complete, Death> = {}): Promise<OpenBatch> {
    return openBatchFor(this.#batchTools, options as OpenBatchOptions, this.#window);
  }

  /** Starts a flow: all its nodes are stored, and those that wait for nobody begin. */
  flow<In>(
    definition: FlowDefinition<In>,
    input: In,
    options: StartFlowOptions = {},
  ): Promise<{ readonly id: string }> {
    return startFlow(this.#batchTools, definition, input, options);
  }

  /**
   * Stores a message for a receiver outside of the database, durably, with the job that delivers it. The same key for the same tenant and
   * channel is one message, however often it is published.
   */
  publish<In>(channel: string | ChannelTarget<In>, message: In, options: PublishOptions): Promise<Published> {
    return this.#call(async () => {
      const checked = await newMessage(channel, message, options, this.#codec);
      if (typeof channel !== "string") await this.#rules.tell(channel.definition);
      return publish(this.#ask, this.#clock, checked);
    });
  }

  /** A page of messages, oldest first. */
  async outbox(filter: MessageFilter = {}): Promise<Message[]> {
    refuseUnknown(filter, ["status", "channel", "tenant", "after", "limit"], "outbox");
    if (filter.after !== undefined) checkJobId(filter.after);
    return this.#call(() => readMessages(this.#db, filter));
  }

  /** A message with its attempts and what the receiver said; undefined when there is none. */
  delivery(id: string): Promise<MessageDetail | undefined> {
    return this.#call(async () => {
      const message = await readMessage(this.#db, checkJobId(id));
      return message && openMessage(this.#codec, message);
    });
  }

  /**
   * Says what became of a message whose fate is unknown, or that was given up: it arrived ("sent"), it did not ("failed"), or it did not
   * and is to be sent again ("resend").
   */
  async resolveDelivery(
    id: string,
    verdict: "sent" | "failed" | "resend",
    options: ResolveOptions = {},
  ): Promise<Exclude<ResolveAnswer, "not_found">> {
    refuseUnknown(options, ["by", "reason"], "resolveDelivery");
    const { by, reason } = options;
    const answer = await this.#call(() => resolveMessage(this.#db, checkJobId(id), verdict, by, reason));
    if (answer === "not_found") throw new MessageNotFoundError(id);
    return answer;
  }

  /** The same calls inside the caller's transaction: `await client.in(tx).enqueue(job, input)`. */
  in(tx: Queryable): TransactionClient {
    return transactionClient(tx, this.#db.schema, this.#rules, this.#codec, this.#chain);
  }

  /** The job as it stands, live or ended; undefined when there is none. */
  job(id: string): Promise<JobDetail | undefined> {
    return this.#call(async () => {
      const job = await readJobDetail(this.#db, checkJobId(id));
      return job && openJob(this.#codec, job);
    });
  }

  /** A page of jobs, newest first. */
  async jobs(filter: JobFilter = {}): Promise<Job[]> {
    refuseUnknown(filter, ["state", "queue", "kind", "tenant", "before", "limit", ...ERROR_FIELDS], "jobs");
    if (filter.before !== undefined) checkJobId(filter.before);
    const why = checkErrorFilter(filter);
    return this.#call(async () => {
      const page = await readJobs(this.#db, filter, why);
      return this.#codec === undefined ? page : page.map((job) => openJob(this.#codec, job));
    });
  }

  /** Why a job does not run: every gate on its way, passed or not; undefined when there is no such job. */
  why(id: string): Promise<Why | undefined> {
    return this.#call(() => readWhy(this.#db, checkJobId(id)));
  }

  /** Cancels a job: at once when it waits ("cancelled"), by its signal when it runs ("requested"). */
  cancel(id: string): Promise<CancelAnswer> {
    return this.#call(() => cancelJob(this.#db, checkJobId(id)));
  }

  /** Runs a dead or cancelled job again, or a waiting one now: behind its finished steps, or `fromStart` without any. */
  async retry(id: string, options: { readonly fromStart?: boolean } = {}): Promise<RetryAnswer> {
    refuseUnknown(options, ["fromStart"], "retry");
    const retry = options.fromStart ? retryFromStart : retryJob;
    return this.#call(() => retry(this.#db, checkJobId(id)));
  }

  /** What `redrive` would put back: how many, by kind and error, and the oldest of them. Changes nothing. */
  previewRedrive(filter: RedriveFilter, options: Pick<RedriveOptions, "after"> = {}): Promise<RedrivePreview> {
    return this.#call(() => previewRedrive(this.#db, filter, options));
  }

  /** Runs all dead (or cancelled) jobs that fit again, in bounded batches. What is left out of the filter is not asked for. */
  redrive(filter: RedriveFilter, options: RedriveOptions = {}): Promise<Redriven> {
    return this.#call(() => redrive(this.#db, this.#clock, filter, options));
  }

  /** A new job like one that has ended, with other input. The old one stays, and the new one's `rerunOf` names it. */
  rerun<In = unknown>(id: string, options: RerunOptions<In> = {}): Promise<Enqueued> {
    return this.#call(() => rerun(this.#db, this.#rules, this.#codec, checkJobId(id), options, this.#chain));
  }

  /** The steps that a job has come to, and the signals it was sent; empty when there are none. */
  steps(id: string): Promise<Step[]> {
    return this.#call(async () => {
      const steps = await readSteps(this.#db, checkJobId(id));
      const job = this.#codec && steps.length > 0 ? await readJob(this.#db, id) : undefined;
      return job ? steps.map((step) => openStep(this.#codec, job, step)) : steps;
    });
  }

  /** Sends a job the signal that `ctx.waitFor(name)` waits for, now or later. The first one counts. */
  async signal(id: string, name: string, value?: unknown): Promise<SignalAnswer> {
    const signal = checkSignal(id, name, value);
    return this.#call(async () => {
      const sealed = await sealSignal(this.#ask, this.#db.schema, this.#codec, signal);
      return sendSignal(this.#db, signal.jobId, signal.name, sealed);
    });
  }

  /** Declares a schedule: a job by the clock. The same again changes nothing, so call it at every start, from every process. */
  schedule<In>(name: string, options: ScheduleOptions<In>): Promise<Scheduled> {
    return this.#call(() => this.#schedules.declare(name, options));
  }

  /** Removes a schedule; the jobs that it made stay. False: there was none. */
  unschedule(name: string): Promise<boolean> {
    return this.#call(() => this.#schedules.remove(name));
  }

  /** A page of schedules by name, with their next runs. */
  schedules(page: NamePage = {}): Promise<Schedule[]> {
    return this.#call(async () => this.#schedules.list(page));
  }

  /** When a schedule, or an expression that is none yet, ticks next. */
  nextRuns(what: string | CronSpec, count = 5): Promise<Date[]> {
    return this.#call(() => this.#schedules.nextRuns(what, count));
  }

  /** Makes no more jobs by this schedule. What it would have done until it is resumed is not made up for. */
  pauseSchedule(name: string): Promise<void> {
    return this.#call(() => this.#schedules.pause(name));
  }

  resumeSchedule(name: string): Promise<void> {
    return this.#call(() => this.#schedules.resume(name));
  }

  /** Enqueues the job of a schedule now; its ticks stay as they are. */
  runSchedule(name: string): Promise<Enqueued> {
    return this.#call(() => this.#schedules.run(name));
  }

  /** Gives credits to an account, which is made if it does not exist. */
  async grant(account: string, amount: number, options?: GrantOptions): Promise<Granted> {
    return this.#call(() => this.#credits.grant(account, amount, options));
  }

  /** What an account has free, and what jobs hold of it. */
  async balance(account: string): Promise<Balance> {
    return this.#call(() => this.#credits.balance(account));
  }

  /** The movements of an account, newest first. */
  async statement(account: string, page: StatementPage = {}): Promise<CreditEntry[]> {
    if (page.before !== undefined) checkJobId(page.before);
    return this.#call(() => this.#credits.statement(account, page));
  }

  /** Changes a tenant's weight and limits. What is left out stays as it is; null takes a limit away. */
  async setTenant(tenant: string, settings: TenantSettings): Promise<void> {
    return this.#setGate("tenant", nameOf(tenant, "tenant"), checkGateSettings(settings, "tenant", "setTenant"));
  }

  /** Changes a queue's limits, across the fleet. */
  async setQueue(queue: string, settings: GateSettings): Promise<void> {
    return this.#setGate("queue", nameOf(queue, "queue"), checkGateSettings(settings, "queue", "setQueue"));
  }

  /** Changes the limits of a kind of jobs, across the fleet. */
  async setKind(kind: string, settings: GateSettings): Promise<void> {
    return this.#setGate("kind", nameOf(kind, "kind"), checkGateSettings(settings, "kind", "setKind"));
  }

  /** Starts no more jobs of a queue, a kind or a tenant. What runs goes on; what is enqueued waits. */
  async pause(what: GateName): Promise<void> {
    const { scope, name } = checkGateName(what, "pause");
    return this.#setGate(scope, nameOf(name, scope), { paused: true });
  }

  async resume(what: GateName): Promise<void> {
    const { scope, name } = checkGateName(what, "resume");
    return this.#setGate(scope, nameOf(name, scope), { paused: false });
  }

  /** A page of tenants by name, with their limits and what waits and runs. */
  tenants(page: NamePage = {}): Promise<TenantOverview[]> {
    return this.#call(() => readTenants(this.#db, page));
  }

  /** A page of queues by name. */
  queues(page: NamePage = {}): Promise<QueueOverview[]> {
    return this.#call(() => readQueues(this.#db, page));
  }

  /** A page of kinds by name: those that have limits or that a living worker handles. */
  kinds(page: NamePage = {}): Promise<KindOverview[]> {
    return this.#call(() => readKinds(this.#db, page));
  }

  #setGate(scope: GateScope, name: string, settings: Record<string, unknown>): Promise<void> {
    return this.#call(() => setGate(this.#db, scope, name, settings));
  }

  /** Waits for the job's end and returns its result; throws when it ended otherwise, or when the time is over. */
  async result(id: string, options: { timeout?: Duration } = {}): Promise<unknown> {
    const endMs = this.#clock.monotonic() + toMs(options.timeout ?? "30s", "timeout");
    for (let pauseMs = 10; ; pauseMs = Math.min(500, pauseMs * 1.5)) {
      const job = await this.#call(() => readJob(this.#db, checkJobId(id)));
      if (!job) throw new JobNotFoundError(id);
      // Who asks for the result and has the codec gets what was sealed, or hears why not.
      if (job.state === "done" && this.#codec !== undefined && job.result !== null)
        return openJson(this.#codec, job.result, job, "result");
      if (job.state === "done") return job.result;
      if (isEnded(job.state))
        throw new FairmillError(
          "FAIRMILL_JOB_FAILED",
          `Job ${id} ended as ${job.state}${job.error ? `: ${job.error.message}` : "."}`,
        );
      const leftMs = endMs - this.#clock.monotonic();
      if (leftMs <= 0)
        throw new FairmillError(
          "FAIRMILL_RESULT_TIMEOUT",
          `Job ${id} is still ${job.state}; it goes on, only the waiting ended.`,
        );
      await sleep(this.#clock, Math.min(pauseMs, leftMs));
    }
  }

  /** Waits for what is under way and closes the client's own connections; a second call returns the same promise. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    await this.#db.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #begin(): void {
    if (this.#closed) throw new FairmillError("FAIRMILL_CLOSED", "This client is closed; create another one.");
    this.#underWay++;
  }

  #end(): void {
    this.#underWay--;
    if (this.#underWay === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    return this.#during(() => this.#explained(work));
  }

  async #during<T>(work: () => Promise<T>): Promise<T> {
    this.#begin();
    try {
      return await work();
    } finally {
      this.#end();
    }
  }

  async #explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw explainFailure(error, this.#db.schema);
    }
  }
}

export const createClient = (options?: ClientOptions): Client => new Client(options);
