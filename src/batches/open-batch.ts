// Batches that are kept open: by the process that opened one, and by others that add to it.

import { type Duration, toMs } from "../base/duration.js";
import { refuseUnknown } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import { newJob } from "../core/enqueue/make-job.js";
import type { EnqueueOptions } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import type { BatchState } from "./batch.js";
import { BatchEndedError } from "./batch-errors.js";
import { type BatchAdder, OF_MEMBER } from "./batch-filler.js";
import { holdBatch, type OpenedBatch, releaseBatch } from "./batch-statements.js";

/** How long a batch is held open unless the caller says otherwise. */
export const HOLD = "10m";

/** A right to keep a batch open until it is released, or until its time is up: then the batch ends as failed. */
export class BatchHold {
  readonly batch: string;
  readonly #context: ClientContext;
  readonly #hold: string;

  constructor(context: ClientContext, batch: string, hold: string) {
    this.#context = context;
    this.batch = batch;
    this.#hold = hold;
  }

  /** From now on so long. */
  async extend(duration: Duration = HOLD): Promise<void> {
    const holdMs = toMs(duration, "duration");
    const hold = await this.#context.call(() => holdBatch(this.#context, this.batch, holdMs, this.#hold));
    if (hold === undefined) throw new BatchEndedError(this.batch);
  }

  /** Everything is added. Resolves with the batch's state; undefined when the time was up before. */
  release(): Promise<BatchState | undefined> {
    return this.#context.call(() => releaseBatch(this.#context, this.#hold));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}

/** A batch that others add to, by `client.enqueue(job, input, { batch: batch.id })` or by `add`, until it is closed. */
export class OpenBatch extends BatchHold implements BatchAdder {
  readonly #context: ClientContext;
  readonly #tenant: string;

  constructor(context: ClientContext, { id, hold }: OpenedBatch, tenant: string) {
    super(context, id, hold!);
    this.#context = context;
    this.#tenant = tenant;
  }

  get id(): string {
    return this.batch;
  }

  add<In>(definition: JobDefinition<In, unknown>, input: In, options: EnqueueOptions = {}): Promise<void> {
    const { call, codec, chain, contents, rules, storeOne } = this.#context;
    return call(async () => {
      refuseUnknown(options, OF_MEMBER, "batch.add");
      const member = { tenant: this.#tenant, ...options, batch: this.id };
      const job = await newJob(definition, input, member, codec, chain, contents);
      await rules.tell(definition);
      await storeOne(job);
    });
  }

  /** Nothing more is added by the process that opened it. The batch is over when its members are. */
  close(): Promise<BatchState | undefined> {
    return this.release();
  }
}
