// `client.batches`: jobs that end together.
//
//   create(options, fill)   everything known now: collected, stored in one transaction
//   open(options)           others add to it, from anywhere, until it is closed

import { sleep } from "../base/clock.js";
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError, DatabaseError } from "../base/errors.js";
import { checkBatchId } from "../base/job-id.js";
import { refuseUnknown } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import {
  BatchNotFoundError,
  type BatchOptions,
  type BatchState,
  BatchTimeoutError,
  type CreateBatchOptions,
  checkBatchOptions,
  type OpenBatchOptions,
  type Window,
  windowOf,
} from "./batch.js";
import type { BatchEnds } from "./batch-ends.js";
import { BatchEndedError } from "./batch-errors.js";
import { type BatchAdder, checkFill, fillBatch, newBatch, openOnce, type StoredBatch } from "./batch-filler.js";
import { checkBatchFilter } from "./batch-filter.js";
import {
  type Batch,
  type BatchFilter,
  cancelBatch,
  cancelMembers,
  holdBatch,
  readBatch,
  readBatches,
} from "./batch-statements.js";
import { BatchHold, HOLD, OpenBatch } from "./open-batch.js";

const CANCEL_PAUSE_MS = 20;
/** In a transaction of the caller: another session may wait for it, and is not waited for without end. */
const CANCEL_TRIES_MAX = 250;

export class Batches {
  readonly #context: ClientContext;
  readonly #window: Window | undefined;
  readonly #ends: BatchEnds | undefined;

  /** `window`: of open batches that say nothing about it. `ends`: undefined inside a transaction, where nothing is waited for. */
  constructor(context: ClientContext, window: Window | undefined, ends: BatchEnds | undefined) {
    this.#context = context;
    this.#window = window;
    this.#ends = ends;
  }

  /** Stores jobs that end together, with callbacks: everything that `fill` adds, or nothing. */
  async create<Success, Complete, Death>(
    options: CreateBatchOptions<Success, Complete, Death>,
    fill: (batch: BatchAdder) => unknown,
  ): Promise<StoredBatch> {
    checkBatchOptions(options as CreateBatchOptions, "batches.create", ["idempotencyKey"]);
    checkFill(fill);
    return this.#context.call(() =>
      fillBatch(this.#context, options as CreateBatchOptions, fill, (id) => this.cancel(id)),
    );
  }

  /** Opens a batch that others add to, from anywhere, until it is closed. One of a transaction is closed before that commits. */
  async open<Success, Complete, Death>(options: OpenBatchOptions<Success, Complete, Death> = {}): Promise<OpenBatch> {
    checkBatchOptions(options as OpenBatchOptions, "batches.open", ["hold", "stability"]);
    const holdMs = toMs(options.hold ?? HOLD, "hold");
    const { stability } = options;
    const window = stability === false ? undefined : stability ? windowOf(stability, "batches.open") : this.#window;
    return this.#context.call(async () => {
      const batch = { ...(await newBatch(this.#context, options as BatchOptions)), holdMs, window };
      return new OpenBatch(this.#context, await openOnce(this.#context, batch, []), batch.tenant);
    });
  }

  /** A batch as it stands; undefined when there is none. */
  get(id: string): Promise<Batch | undefined> {
    return this.#context.call(async () => readBatch(this.#context, checkBatchId(id)));
  }

  /** A page of batches and flows, newest first. */
  async list(filter: BatchFilter = {}): Promise<Batch[]> {
    const wanted = checkBatchFilter(filter);
    return this.#context.call(() => readBatches(this.#context, wanted));
  }

  /** Waits until a batch or a flow is over, and returns it; throws when the time is. It goes on in any case. */
  async wait(id: string, options: { readonly timeout?: Duration } = {}): Promise<Batch> {
    refuseUnknown(options, ["timeout"], "batches.wait");
    if (this.#ends === undefined)
      throw new ConfigError(
        "tx",
        "wait: not inside a transaction, which its jobs may wait for. Call client.batches.wait.",
      );
    await this.#ends.wait(checkBatchId(id), toMs(options.timeout ?? "30s", "timeout"));
    const batch = await this.get(id);
    if (!batch) throw new BatchNotFoundError("batch", id);
    if (batch.endedAt === null) throw new BatchTimeoutError(batch);
    return batch;
  }

  /** Cancels what is left of a batch or a flow: what waits ends, what runs is asked to stop. Resolves when every member has been asked. */
  cancel(id: string): Promise<BatchState> {
    const context = this.#context;
    return context.call(async () => {
      const state = await cancelBatch(context, checkBatchId(id));
      if (state === undefined) throw new BatchNotFoundError("batch", id);
      // One that is being claimed or settled at this time is left out, and looked at again.
      for (let tries = 1; (await cancelMembers(context, id)).isMore; tries++) {
        if (!context.isAlone && tries === CANCEL_TRIES_MAX) throw heldByOthers(id);
        await sleep(context.clock, CANCEL_PAUSE_MS);
      }
      return (await readBatch(context, id))?.state ?? state;
    });
  }

  /** Holds a batch open for a caller that is not a member and wants to add to it. */
  async hold(id: string, options: { readonly for?: Duration } = {}): Promise<BatchHold> {
    refuseUnknown(options, ["for"], "batches.hold");
    const holdMs = toMs(options.for ?? HOLD, "for");
    const hold = await this.#context.call(async () => holdBatch(this.#context, checkBatchId(id), holdMs));
    if (hold === undefined) throw new BatchEndedError(id);
    return new BatchHold(this.#context, id, hold);
  }
}

const heldByOthers = (id: string) =>
  new DatabaseError(
    "FAIRMILL_LOCK_TIMEOUT",
    `Other sessions hold members of batch ${id} for too long. Roll the transaction back and run it again, or cancel the batch outside of it.`,
  );
