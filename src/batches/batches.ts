// Batches as an application uses them: jobs that end together.
//
//   client.batch(options, fill)   everything known now: collected, stored in one transaction
//   client.openBatch(options)     others add to it, from anywhere, until it is closed

import type { Clock } from "../base/clock.js";
import { sleep } from "../base/clock.js";
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { checkBatchId } from "../base/job-id.js";
import { refuseUnknown } from "../base/settings.js";
import type { SharedLook } from "../base/shared-look.js";
import { type JobMakers, newJob } from "../core/enqueue/make-job.js";
import type { Sender } from "../core/enqueue/sender.js";
import { onceOnly } from "../core/enqueue/unknown-outcome.js";
import type { EnqueueOptions, NewJob } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { Database } from "../db/database.js";
import {
  BatchNotFoundError,
  type BatchOptions,
  type BatchState,
  BatchTimeoutError,
  checkBatchOptions,
  type OpenBatchOptions,
  type Window,
  windowOf,
} from "./batch.js";
import { BatchEndedError } from "./batch-errors.js";
import { checkBatchFilter } from "./batch-filter.js";
import {
  type Batch,
  type BatchFilter,
  cancelBatch,
  cancelMembers,
  holdBatch,
  type NewBatch,
  type OpenedBatch,
  openBatch,
  readBatch,
  readBatches,
  releaseBatch,
} from "./batch-statements.js";
import { newCallbacks } from "./callbacks.js";

/** What a batch needs of its client. */
export interface BatchTools extends JobMakers {
  readonly db: Database;
  readonly clock: Clock;
  readonly sender: Sender;
  /** All callers that wait for batches and flows look together. */
  readonly batchEnds: SharedLook<{ readonly isOver: boolean }>;
  /** Runs a call of the client: counted, and its errors explained. */
  readonly call: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Adds jobs to a batch. */
export interface BatchAdder {
  add<In>(definition: JobDefinition<In, unknown>, input: In, options?: Omit<EnqueueOptions, "batch">): Promise<void>;
}

/** A batch that was stored. */
export interface StoredBatch {
  readonly id: string;
  /** Jobs that were added to it. */
  readonly added: number;
}

/** Jobs that are collected before the first of them are stored. */
const COLLECTED_MAX = 5_000;
const OF_MEMBER = ["tenant", "priority", "runAt", "delay", "idempotencyKey", "key"] as const;
const HOLD = "10m";
/** While the members of a large batch are being stored. */
const FILLING_MS = 600_000;
const CANCEL_PAUSE_MS = 20;

export class Batches {
  readonly #tools: BatchTools;

  constructor(tools: BatchTools) {
    this.#tools = tools;
  }

  /** A batch as it stands; undefined when there is none. */
  get(id: string): Promise<Batch | undefined> {
    return this.#tools.call(() => readBatch(this.#tools.db, checkBatchId(id)));
  }

  /** A page of batches and flows, newest first. */
  async list(filter: BatchFilter = {}): Promise<Batch[]> {
    const wanted = checkBatchFilter(filter);
    return this.#tools.call(() => readBatches(this.#tools.db, wanted));
  }

  /** Waits until a batch or a flow is over, and returns it; throws when the time is. It goes on in any case. */
  async wait(id: string, options: { readonly timeout?: Duration } = {}): Promise<Batch> {
    refuseUnknown(options, ["timeout"], "batches.wait");
    await this.#tools.batchEnds.wait(checkBatchId(id), toMs(options.timeout ?? "30s", "timeout"));
    const batch = await this.get(id);
    if (!batch) throw new BatchNotFoundError("batch", id);
    if (batch.endedAt === null) throw new BatchTimeoutError(batch);
    return batch;
  }

  /** Cancels what is left of a batch or a flow: what waits ends, what runs is told. Resolves when every member has been told. */
  cancel(id: string): Promise<BatchState> {
    const { db, clock, call } = this.#tools;
    return call(async () => {
      const state = await cancelBatch(db, checkBatchId(id));
      if (state === undefined) throw new BatchNotFoundError("batch", id);
      // One that is being claimed or settled at this moment is left out, and looked at again.
      while ((await cancelMembers(db, id)).isMore) await sleep(clock, CANCEL_PAUSE_MS);
      return (await readBatch(db, id))?.state ?? state;
    });
  }

  /** Holds a batch open for somebody who is not a member and wants to add to it. */
  async hold(id: string, options: { readonly for?: Duration } = {}): Promise<BatchHold> {
    refuseUnknown(options, ["for"], "batches.hold");
    const holdMs = toMs(options.for ?? HOLD, "for");
    const hold = await this.#tools.call(() => holdBatch(this.#tools.db, checkBatchId(id), holdMs));
    if (hold === undefined) throw new BatchEndedError(id);
    return new BatchHold(this.#tools, id, hold);
  }
}

/** A right to keep a batch open until it is released, or until its time is up: then the batch ends as failed. */
export class BatchHold {
  readonly batch: string;
  readonly #tools: BatchTools;
  readonly #hold: string;

  constructor(tools: BatchTools, batch: string, hold: string) {
    this.#tools = tools;
    this.batch = batch;
    this.#hold = hold;
  }

  /** From now on so long. */
  async extend(duration: Duration = HOLD): Promise<void> {
    const holdMs = toMs(duration, "duration");
    const hold = await this.#tools.call(() => holdBatch(this.#tools.db, this.batch, holdMs, this.#hold));
    if (hold === undefined) throw new BatchEndedError(this.batch);
  }

  /** Everything is added. Resolves with the batch's state; undefined when the time was up before. */
  release(): Promise<BatchState | undefined> {
    return this.#tools.call(() => releaseBatch(this.#tools.db, this.#hold));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

/** A batch that others add to, by `client.enqueue(job, input, { batch: batch.id })` or by `add`, until it is closed. */
export class OpenBatch extends BatchHold implements BatchAdder {
  readonly #tools: BatchTools;
  readonly #tenant: string;

  constructor(tools: BatchTools, { id, hold }: OpenedBatch, tenant: string) {
    super(tools, id, hold!);
    this.#tools = tools;
    this.#tenant = tenant;
  }

  get id(): string {
    return this.batch;
  }

  add<In>(definition: JobDefinition<In, unknown>, input: In, options: EnqueueOptions = {}): Promise<void> {
    const { call, codec, chain, rules, sender } = this.#tools;
    return call(async () => {
      refuseUnknown(options, OF_MEMBER, "batch.add");
      const job = await newJob(definition, input, { tenant: this.#tenant, ...options, batch: this.id }, codec, chain);
      await rules.tell(definition);
      await sender.one(job);
    });
  }

  /** Nothing more is added by whoever opened it. The batch is over when its members are. */
  close(): Promise<BatchState | undefined> {
    return this.release();
  }
}

export async function openBatchFor(
  tools: BatchTools,
  options: OpenBatchOptions,
  defaultWindow: Window | undefined,
): Promise<OpenBatch> {
  checkBatchOptions(options, "openBatch", ["hold", "stability"]);
  const holdMs = toMs(options.hold ?? HOLD, "hold");
  const window =
    options.stability === false
      ? undefined
      : options.stability
        ? windowOf(options.stability, "openBatch")
        : defaultWindow;
  return tools.call(async () => {
    const batch = { ...(await newBatch(tools, options)), holdMs, window };
    return new OpenBatch(tools, await onceOnly("batch", () => openBatch(tools.db, batch, [])), batch.tenant);
  });
}

export async function newBatch(makers: JobMakers, options: BatchOptions): Promise<NewBatch> {
  const tenant = options.tenant ?? "default";
  return {
    name: options.name,
    tenant,
    parent: options.parent === undefined ? undefined : checkBatchId(options.parent, "parent"),
    callbacks: await newCallbacks(options, tenant, makers),
  };
}

export function checkFill(fill: unknown): void {
  if (typeof fill !== "function")
    throw new ConfigError(
      "fill",
      "batch(options, fill): fill must be a function that adds the jobs, like (batch) => batch.add(job, input).",
    );
}

/** Collects what `fill` adds. */
export class BatchFiller implements BatchAdder {
  readonly #tools: JobMakers;
  readonly #tenant: string;
  readonly #flush: ((jobs: readonly NewJob[]) => Promise<void>) | undefined;
  #jobs: NewJob[] = [];
  added = 0;

  /** Without `flush` everything is kept to the end. */
  constructor(tools: JobMakers, tenant: string, flush?: (jobs: readonly NewJob[]) => Promise<void>) {
    this.#tools = tools;
    this.#tenant = tenant;
    this.#flush = flush;
  }

  async add<In>(definition: JobDefinition<In, unknown>, input: In, options: EnqueueOptions = {}): Promise<void> {
    refuseUnknown(options, OF_MEMBER, "batch.add");
    const { rules, codec, chain } = this.#tools;
    const job = newJob(definition, input, { tenant: this.#tenant, ...options }, codec, chain);
    const made = job instanceof Promise ? await job : job;
    if (!rules.knows(definition)) await rules.tell(definition);
    this.#jobs.push(made);
    this.added++;
    if (this.#flush && this.#jobs.length >= COLLECTED_MAX) await this.#flush(this.take());
  }

  take(): NewJob[] {
    const jobs = this.#jobs;
    this.#jobs = [];
    return jobs;
  }
}

/** Stores a batch with everything that `fill` adds: in one transaction, or, where that is a lot, held open meanwhile. */
export async function fillBatch(
  tools: BatchTools,
  options: BatchOptions,
  fill: (batch: BatchAdder) => unknown,
): Promise<StoredBatch> {
  checkBatchOptions(options, "batch");
  checkFill(fill);
  return tools.call(async () => {
    const { db, sender } = tools;
    const batch = await newBatch(tools, options);
    let opened: OpenedBatch | undefined;
    const flush = async (jobs: readonly NewJob[]) => {
      if (opened === undefined)
        opened = await onceOnly("batch", () => openBatch(db, { ...batch, holdMs: FILLING_MS }, jobs));
      else {
        await sender.many(jobs.map((job) => ({ ...job, batch: opened!.id })));
        await holdBatch(db, opened.id, FILLING_MS, opened.hold!);
      }
    };
    const filler = new BatchFiller(tools, batch.tenant, flush);
    try {
      await fill(filler);
      const rest = filler.take();
      if (opened === undefined) {
        const { id } = await onceOnly("batch", () => openBatch(db, batch, rest));
        return { id, added: filler.added };
      }
      if (rest.length > 0) await flush(rest);
      await releaseBatch(db, opened.hold!);
      return { id: opened.id, added: filler.added };
    } catch (error) {
      // Half a batch is none: what was stored of it is cancelled.
      if (opened !== undefined) await new Batches(tools).cancel(opened.id);
      throw error;
    }
  });
}
