// A batch whose jobs are known when it is made: collects them, and stores the batch with all of them.

import { ConfigError } from "../base/errors.js";
import { checkBatchId } from "../base/job-id.js";
import { refuseUnknown } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { idempotencyKey, type JobMakers, newJob } from "../core/enqueue/make-job.js";
import { onceOnly } from "../core/enqueue/unknown-outcome.js";
import type { EnqueueOptions, NewJob } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { BatchOptions, CreateBatchOptions } from "./batch.js";
import { holdBatch, type NewBatch, type OpenedBatch, openBatch, releaseBatch } from "./batch-statements.js";
import { newCallbacks } from "./callbacks.js";

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

export const OF_MEMBER = [
  ...["tenant", "priority", "runAt", "delay", "idempotencyKey", "key"],
  ...["attempts", "timeout", "expire", "tags", "trace"],
] as const;
/** Jobs that are collected before the first of them are stored. In a transaction of the caller, and with an idempotency key, all of them are. */
const COLLECTED_MAX = 5_000;
/** While the members of a large batch are being stored. */
const FILLING_MS = 600_000;

export function checkFill(fill: unknown): void {
  if (typeof fill !== "function")
    throw new ConfigError(
      "fill",
      "batches.create(options, fill): fill must be a function that adds the jobs, like (batch) => batch.add(job, input).",
    );
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

/** Alone, a connection that breaks before the answer leaves open whether the batch is stored, and the error says so. */
export const openOnce = (context: ClientContext, batch: NewBatch, jobs: readonly NewJob[]): Promise<OpenedBatch> =>
  context.isAlone ? onceOnly("batch", () => openBatch(context, batch, jobs)) : openBatch(context, batch, jobs);

/** Collects what `fill` adds. */
class Filler implements BatchAdder {
  readonly #makers: JobMakers;
  readonly #tenant: string;
  readonly #flush: ((jobs: readonly NewJob[]) => Promise<void>) | undefined;
  #jobs: NewJob[] = [];
  added = 0;

  /** Without `flush` everything is kept to the end. */
  constructor(makers: JobMakers, tenant: string, flush: ((jobs: readonly NewJob[]) => Promise<void>) | undefined) {
    this.#makers = makers;
    this.#tenant = tenant;
    this.#flush = flush;
  }

  async add<In>(definition: JobDefinition<In, unknown>, input: In, options: EnqueueOptions = {}): Promise<void> {
    refuseUnknown(options, OF_MEMBER, "batch.add");
    const { rules, codec, chain, contents } = this.#makers;
    const job = newJob(definition, input, { tenant: this.#tenant, ...options }, codec, chain, contents);
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

/**
 * Stores a batch with everything that `fill` adds: in one transaction, or, where that is a lot and the transaction is not the caller's, held
 * open meanwhile. Half a batch is none: `undo` cancels what was stored of it. With an idempotency key it is one transaction in any case: half a batch
 * would keep the key, and the next call would take it for the whole.
 */
export async function fillBatch(
  context: ClientContext,
  options: CreateBatchOptions,
  fill: (batch: BatchAdder) => unknown,
  undo: (id: string) => Promise<unknown>,
): Promise<StoredBatch> {
  const { idempotencyKey: key } = options;
  const made = await newBatch(context, options);
  const batch = key === undefined ? made : { ...made, idempotencyKey: idempotencyKey(key) };
  let opened: OpenedBatch | undefined;
  const flush = async (jobs: readonly NewJob[]) => {
    if (opened === undefined) opened = await openOnce(context, { ...batch, holdMs: FILLING_MS }, jobs);
    else {
      await context.storeMany(jobs.map((job) => ({ ...job, batch: opened!.id })));
      await holdBatch(context, opened.id, FILLING_MS, opened.hold!);
    }
  };
  const filler = new Filler(context, batch.tenant, context.isAlone && key === undefined ? flush : undefined);
  try {
    await fill(filler);
    const rest = filler.take();
    if (opened === undefined) {
      const { id, isKnown } = await openOnce(context, batch, rest);
      return { id, added: isKnown ? 0 : filler.added };
    }
    if (rest.length > 0) await flush(rest);
    await releaseBatch(context, opened.hold!);
    return { id: opened.id, added: filler.added };
  } catch (error) {
    if (opened !== undefined) await undo(opened.id);
    throw error;
  }
}
