// What a caller says of a message for a receiver outside, and the message as it is to be written: checked, with its payload as JSON.
import { type Codec, sealJson } from "./codec.js";
import { type Duration, toMs } from "./duration.js";
import { ConfigError } from "./errors.js";
import { serializeInput } from "./json-content.js";
import { type Moment, momentOf } from "./moment.js";
import { nameOf, refuseUnknown, wholeNumber } from "./settings.js";
import { showValue } from "./show-value.js";

export interface PublishOptions {
  /** Whose message it is. */
  readonly tenant?: string;
  /** Publishing again with the same key (per tenant and channel) stores nothing. */
  readonly idempotencyKey?: string;
  /** Messages of one channel, tenant and order key are sent one after the other. */
  readonly orderKey?: string;
  readonly priority?: number;
  /** Not before this moment. */
  readonly runAt?: Moment;
  /** Not before this long from now. Give `runAt` or `delay`, not both. */
  readonly delay?: Duration;
}

export interface NewMessage {
  readonly channel: string;
  readonly tenant: string;
  readonly idempotencyKey: string;
  readonly orderKey: string | undefined;
  readonly priority: number | undefined;
  readonly runAt: string | undefined;
  readonly delayMs: number | undefined;
  /** JSON, checked. */
  readonly payload: string;
}

const KNOWN = ["tenant", "idempotencyKey", "orderKey", "priority", "runAt", "delay"] as const;

/** The kind of the jobs that deliver messages of a channel. */
export const deliveryKind = (channel: string): string => `fairmill.deliver.${channel}`;

export function newMessage(
  channel: string,
  payload: unknown,
  options: PublishOptions & { readonly tenant: string; readonly idempotencyKey: string },
  codec: Codec | undefined,
): NewMessage {
  const where = `publish(${showValue(channel)})`;
  refuseUnknown(options, KNOWN, where);
  if (options.runAt !== undefined && options.delay !== undefined)
    throw new ConfigError("delay", `${where}: give runAt or delay, not both.`);
  const kind = deliveryKind(nameOf(channel, "channel"));
  const tenant = nameOf(options.tenant, "tenant");
  const json = serializeInput(kind, payload);
  return {
    channel,
    tenant,
    idempotencyKey: messageKey(options.idempotencyKey),
    orderKey: options.orderKey === undefined ? undefined : nameOf(options.orderKey, "orderKey"),
    priority: options.priority === undefined ? undefined : wholeNumber(options.priority, -1000, 1000, "priority"),
    runAt: options.runAt === undefined ? undefined : momentOf(options.runAt, "runAt"),
    delayMs: options.delay === undefined ? undefined : toMs(options.delay, "delay"),
    payload: sealJson(codec, json, { kind, tenant }, "payload"),
  };
}

function messageKey(key: string): string {
  if (typeof key === "string" && key.length >= 1 && key.length <= 500 && !key.includes("\0") && key.isWellFormed())
    return key;
  throw new ConfigError("idempotencyKey", `idempotencyKey: ${showValue(key)} is not a text of 1 to 500 characters.`);
}
