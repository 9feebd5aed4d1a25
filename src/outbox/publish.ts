// From what the caller says to the message that is stored: validated, checked, with what the channel says of its delivery.

import type { Clock } from "../base/clock.js";
import { toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { serializeInput } from "../base/json-content.js";
import { retrying } from "../base/retry.js";
import { nameOf, readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import { momentOf } from "../base/time.js";
import { idempotencyKey, traceOf } from "../core/enqueue/make-job.js";
import { type Codec, sealJson } from "../core/job/codec.js";
import { validateInput } from "../core/job/validate-input.js";
import { isWorthRepeating } from "../db/failures.js";
import type { Session } from "../db/session.js";
import type { ChannelTarget } from "./channel-target.js";
import { channelName, DELIVERY_KIND } from "./delivery.js";
import { publishMessages } from "./outbox-statements.js";
import type { NewMessage, Published, PublishOptions } from "./publish-options.js";

const KNOWN = [
  "idempotencyKey",
  "tenant",
  "orderKey",
  "reference",
  "queue",
  "priority",
  "runAt",
  "delay",
  "key",
  "trace",
] as const;

export async function newMessage<In>(
  channel: string | ChannelTarget<In>,
  message: In,
  options: PublishOptions,
  codec: Codec | undefined,
): Promise<NewMessage> {
  const { target, name } = readable("channel", "publish", () => targetOf(channel));
  const where = `publish("${name}")`;
  if (typeof options !== "object" || options === null)
    throw new ConfigError(
      "idempotencyKey",
      `${where}: pass { idempotencyKey }, which keeps the message from going out twice.`,
    );
  refuseUnknown(options, KNOWN, where);
  if (options.runAt !== undefined && options.delay !== undefined)
    throw new ConfigError("delay", `${where}: give runAt or delay, not both.`);
  const { definition } = target ?? {};
  if (definition !== undefined) await validateInput(definition, message);
  const kind = DELIVERY_KIND + name;
  const tenant = options.tenant === undefined ? "default" : nameOf(options.tenant, "tenant");
  const key = options.key === undefined ? definition?.key?.(message) : options.key;
  const queue = options.queue === undefined ? definition?.queue : options.queue;
  const priority = options.priority === undefined ? definition?.priority : options.priority;
  // What is stored is what was given, not what the schema made of it: it is validated again before it is sent.
  return {
    channel: name,
    tenant,
    idempotencyKey: idempotencyKey(options.idempotencyKey),
    orderKey: options.orderKey === undefined ? undefined : nameOf(options.orderKey, "orderKey"),
    reference: options.reference === undefined ? undefined : nameOf(options.reference, "reference"),
    payload: sealJson(codec, serializeInput(kind, message), { kind, tenant }, "payload"),
    queue: queue === undefined ? undefined : nameOf(queue, "queue"),
    priority: priority === undefined ? undefined : wholeNumber(priority, -1000, 1000, "priority"),
    attemptsMax: definition?.maxAttempts,
    expireMs: definition?.expireMs,
    key: key === undefined ? undefined : nameOf(key, "key"),
    runAt: options.runAt === undefined ? undefined : momentOf(options.runAt, "runAt"),
    delayMs: options.delay === undefined ? undefined : toMs(options.delay, "delay"),
    trace: options.trace === undefined ? undefined : traceOf(options.trace),
  };
}

function targetOf<In>(channel: string | ChannelTarget<In>): { target: ChannelTarget<In> | undefined; name: string } {
  if (typeof channel === "string") return { target: undefined, name: channelName(channel) };
  const name = channelName(channel?.name);
  if (typeof channel.definition?.kind !== "string")
    throw new ConfigError(
      "channel",
      `channel: "${name}" is no channel: pass its name, or what defineChannel(…) returned.`,
    );
  return { target: channel, name };
}

const TRIES_MAX = 5;
const RETRY = { firstMs: 100, maxMs: 1_600 };

/** Repeated until it is answered: its key makes that safe. */
export const publishRepeatedly = (db: Session, clock: Clock, message: NewMessage): Promise<Published> =>
  retrying(async () => (await publishMessages(db, [message]))[0]!, {
    ...{ clock, pauses: RETRY },
    mayRepeat: (error, tries) => isWorthRepeating(error) && tries < TRIES_MAX,
  });
