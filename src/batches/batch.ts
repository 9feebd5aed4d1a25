// Batches as callers describe them: callbacks, what they are inside of, and how long they wait for producers from outside.
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError, FairmillError } from "../base/errors.js";
import { checkBatchId } from "../base/job-id.js";
import { nameOf, readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { EnqueueOptions } from "../core/job/enqueue-options.js";
import type { JobDefinition } from "../core/job/job-definition.js";

/** A job that is enqueued when something has happened to a batch or a flow. */
export interface Callback<In> extends Pick<EnqueueOptions, "tenant" | "priority" | "delay" | "key"> {
  readonly job: JobDefinition<In, unknown>;
  readonly input: In;
}

export interface Callbacks<Success, Complete, Death> {
  /** Once, when every member is done and everything inside has succeeded. */
  readonly onSuccess?: Callback<Success>;
  /** Once, when no member is left, whatever they came to. */
  readonly onComplete?: Callback<Complete>;
  /** Once, when the first member has died; of a flow, the first job of any node. */
  readonly onDeath?: Callback<Death>;
}

/** How long a batch waits for more members from outside before it counts as over. */
export interface Stability {
  /** No new member for so long; default "200ms". */
  readonly stabilityWindow?: Duration;
  /** Not longer than this in all; default "5s". */
  readonly maxWait?: Duration;
  /** Not looked at more often than this; default "50ms". */
  readonly pollInterval?: Duration;
}

export interface BatchOptions<Success = unknown, Complete = unknown, Death = unknown>
  extends Callbacks<Success, Complete, Death> {
  /** For people. */
  readonly name?: string;
  /** Whose batch it is; members and callbacks are of this tenant unless they name another. Default "default". */
  readonly tenant?: string;
  /** The batch that is not over before this one: its id. */
  readonly parent?: string;
}

/** The settings of a batch that is stored with its members. */
export interface CreateBatchOptions<Success = unknown, Complete = unknown, Death = unknown>
  extends BatchOptions<Success, Complete, Death> {
  /** A second call with the same key, per tenant, answers with the first one's batch, for as long as that is kept. */
  readonly idempotencyKey?: string;
}

/** The settings of an open batch: one that others add to. */
export interface OpenBatchOptions<Success = unknown, Complete = unknown, Death = unknown>
  extends BatchOptions<Success, Complete, Death> {
  /** The process that opened it holds it open for this long, unless `extend` is called; default "10m". */
  readonly hold?: Duration;
  /** After `close`, how long to wait for registrations that are still on their way; false: not at all. */
  readonly stability?: Stability | false;
}

export const BATCH_STATES = ["waiting", "pending", "succeeded", "failed", "cancelled", "skipped"] as const;

/** Of which batch or flow a job is a callback, and what has happened to it. */
export interface BatchCall {
  readonly batch: string;
  readonly event: "success" | "complete" | "death";
}

export type BatchState = (typeof BATCH_STATES)[number];

export const CALLBACKS = [
  ["onSuccess", "success"],
  ["onComplete", "complete"],
  ["onDeath", "death"],
] as const;

const OF_BATCH = ["name", "tenant", "parent", "onSuccess", "onComplete", "onDeath"] as const;
const OF_CALLBACK = ["job", "input", "tenant", "priority", "delay", "key"] as const;

export function checkBatchOptions(options: OpenBatchOptions, where: string, more: readonly string[] = []): void {
  if (typeof options !== "object" || options === null)
    throw new ConfigError(
      "options",
      `${where}(${showValue(options)}): pass an object, {} for a batch without callbacks.`,
    );
  refuseUnknown(options, [...OF_BATCH, ...more], where);
  if (options.name !== undefined) nameOf(options.name, "name");
  if (options.tenant !== undefined) nameOf(options.tenant, "tenant");
  if (options.parent !== undefined) checkBatchId(options.parent, "parent");
  checkCallbacks(options, where);
}

export function checkCallbacks(options: Callbacks<unknown, unknown, unknown>, where: string): void {
  for (const [setting] of CALLBACKS) {
    const callback = options[setting];
    if (callback === undefined) continue;
    if (!readable(setting, where, () => typeof callback?.job?.kind === "string"))
      throw new ConfigError(setting, `${where}: ${setting} must be { job, input }, with a job made by defineJob.`);
    refuseUnknown(callback, OF_CALLBACK, `${where}: ${setting}`);
  }
}

/** The three numbers of a window, in milliseconds. */
export interface Window {
  readonly windowMs: number;
  readonly maxWaitMs: number;
  readonly pollMs: number;
}

export function windowOf(stability: Stability, where: string): Window {
  refuseUnknown(stability, ["stabilityWindow", "maxWait", "pollInterval"], `${where}: stability`);
  const ms = (value: Duration, setting: string) => wholeNumber(toMs(value, setting), 0, 86_400_000, setting);
  return {
    windowMs: ms(stability.stabilityWindow ?? "200ms", "stabilityWindow"),
    maxWaitMs: ms(stability.maxWait ?? "5s", "maxWait"),
    pollMs: ms(stability.pollInterval ?? "50ms", "pollInterval"),
  };
}

/** A batch or a flow is not over, and the time to wait for it is. */
export class BatchTimeoutError extends FairmillError {
  override readonly name = "BatchTimeoutError";
  constructor({ id, role, live }: { readonly id: string; readonly role: string; readonly live: number }) {
    super(
      "FAIRMILL_BATCH_TIMEOUT",
      `The ${role} ${id} is not over: ${live} of its jobs have not ended. It goes on, only the waiting ended.`,
    );
  }
}

/** No such batch, flow or node, or it was removed by retention. */
export class BatchNotFoundError extends FairmillError {
  override readonly name = "BatchNotFoundError";
  constructor(what: "batch" | "flow" | "node", id: string) {
    super("FAIRMILL_BATCH_NOT_FOUND", `There is no ${what} ${id}: it may have been removed with the history.`);
  }
}
