// A channel: how messages reach a receiver outside of the database, and what is known of that receiver. Whether a message that may have
// arrived is sent again depends on nothing else.

import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import type { Logger } from "../base/log.js";
import { readable, refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../base/standard-schema.js";
import { defineOwnJob, type JobDefinition, type JobOptions } from "../core/job/job-definition.js";
import type { ChannelTarget } from "./channel-target.js";
import { channelName, DELIVERY_ATTEMPTS, DELIVERY_KIND, DELIVERY_QUEUE } from "./delivery.js";
import { endJobOf, type MessageEnd } from "./message-end.js";

/**
 * What the receiver does with an idempotency key. takes-key: the same key twice is one message for it. can-be-asked: it says whether a key
 * arrived. neither: a message that may have arrived stays uncertain.
 */
export type Receiver = "takes-key" | "can-be-asked" | "neither";

/** What becomes of a message that may have arrived: it is sent again, the receiver is asked, or it needs review by an operator. */
export type OnUncertain = "resend" | "ask" | "review";

export type Arrival = "arrived" | "not-arrived" | "unknown";

/** What `send` and `ask` get beside the message. */
export interface SendContext {
  /** Id of the message in the outbox. */
  readonly id: string;
  readonly channel: string;
  readonly tenant: string;
  /** The same for every attempt to deliver this message, and for no other message of its tenant and channel. */
  readonly idempotencyKey: string;
  /** 1 for the first attempt to send. */
  readonly attempt: number;
  /** The `traceparent` that the message was published with, for the receiver to go on with; null: none. */
  readonly trace: string | null;
  /** Aborts on the time limit, on cancel, on a lost lease and on shutdown: end the request. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface ChannelOptions<Schema extends StandardSchema | undefined, Input, Output>
  extends Pick<JobOptions<Schema, Input>, "queue" | "priority" | "timeout" | "expire" | "retry" | "key" | "limits"> {
  /** The name by which messages are published. */
  readonly name: string;
  /** Validates messages when they are published and again before they are sent: any Standard Schema library. */
  readonly input?: Schema;
  readonly receiver: Receiver;
  /**
   * Sends the message; resolves when the receiver has taken it, with its answer, which is kept. Throws NotDeliveredError when it certainly did
   * not take it. Anything else that is thrown leaves that uncertain.
   */
  readonly send: (message: Output, context: SendContext) => unknown;
  /** Asks the receiver whether the key arrived. What it throws counts as unknown. */
  readonly ask?: (context: SendContext, message: Output) => Arrival | Promise<Arrival>;
  /** Default: resend to a receiver that takes keys, ask one that can be asked, review otherwise. */
  readonly onUncertain?: OnUncertain;
  /** How long an earlier request may still be on its way: the receiver is not asked before. At least 100 ms; default "5s". */
  readonly askAfter?: Duration;
  /**
   * A kind of job that is enqueued when a message ends as delivered, failed or unknown, in the transaction that ends it: once for each end. Also when an
   * operator resolves it.
   */
  // biome-ignore lint/suspicious/noExplicitAny: what its handler gets and returns is its own affair.
  readonly onEnd?: JobDefinition<MessageEnd, any, any, any>;
}

/** A checked channel. `In` is what publish takes, `Out` what `send` gets. */
export interface Channel<In = unknown, Out = In> extends ChannelTarget<In> {
  readonly definition: JobDefinition<In, Out>;
  readonly receiver: Receiver;
  readonly onUncertain: OnUncertain;
  readonly askAfterMs: number;
  readonly send: (message: Out, context: SendContext) => unknown;
  readonly ask: ((context: SendContext, message: Out) => Arrival | Promise<Arrival>) | undefined;
}

const OF_THE_JOB = ["queue", "priority", "timeout", "expire", "retry", "key", "limits"] as const;
const KNOWN = ["name", "input", "receiver", "send", "ask", "onUncertain", "askAfter", "onEnd", ...OF_THE_JOB] as const;

const ASK_AFTER_MS_MIN = 100;

const USUAL: Record<Receiver, OnUncertain> = { "takes-key": "resend", "can-be-asked": "ask", neither: "review" };

/** Declares a channel. Without a schema, name the message's type: `defineChannel<{ chat: number }>({ name: "…", … })`. */
export function defineChannel<Schema extends StandardSchema>(
  options: ChannelOptions<Schema, SchemaInput<Schema>, SchemaOutput<Schema>> & { readonly input: Schema },
): Channel<SchemaInput<Schema>, SchemaOutput<Schema>>;
export function defineChannel<Input = unknown>(
  options: ChannelOptions<undefined, Input, Input> & { readonly input?: undefined },
): Channel<Input, Input>;
// biome-ignore lint/suspicious/noExplicitAny: the overloads above are what callers see.
export function defineChannel(options: ChannelOptions<any, any, any>): Channel<any, any> {
  return readable("options", "defineChannel", () => declareChannel(options));
}

// biome-ignore lint/suspicious/noExplicitAny: see above.
function declareChannel(options: ChannelOptions<any, any, any>): Channel<any, any> {
  if (typeof options !== "object" || options === null)
    throw new ConfigError("options", `defineChannel(${showValue(options)}): pass an object, like { name: "mail", … }.`);
  const where = `defineChannel(${showValue(options.name)})`;
  refuseUnknown(options, KNOWN, where);
  const name = channelName(options.name);
  const usual = oneOf(USUAL, options.receiver, "receiver", where);
  const onUncertain = options.onUncertain ?? usual;
  if (!Object.values(USUAL).includes(onUncertain))
    throw new ConfigError("onUncertain", `${where}: onUncertain must be "resend", "ask" or "review".`);
  if (typeof options.send !== "function")
    throw new ConfigError("send", `${where}: send must be a function that sends a message.`);
  if (options.ask !== undefined && typeof options.ask !== "function")
    throw new ConfigError("ask", `${where}: ask must be a function that asks the receiver for a key.`);
  if ((onUncertain === "ask" || options.receiver === "can-be-asked") && options.ask === undefined)
    throw new ConfigError(
      "ask",
      `${where}: a receiver that is to be asked needs ask: a function that asks it for a key.`,
    );
  const askAfterMs = toMs(options.askAfter ?? "5s", "askAfter");
  // Half of it is what a sender has from its begin to its send: less than this, and a busy process would not come to it.
  if (askAfterMs < ASK_AFTER_MS_MIN)
    throw new ConfigError("askAfter", `${where}: askAfter must be at least ${ASK_AFTER_MS_MIN} ms.`);
  const job = Object.fromEntries(
    OF_THE_JOB.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]),
  );
  return Object.freeze({
    name,
    receiver: options.receiver,
    onUncertain,
    askAfterMs,
    send: options.send,
    ask: options.ask,
    definition: Object.freeze({
      ...defineOwnJob({
        queue: DELIVERY_QUEUE,
        timeout: "1m",
        ...job,
        retry: { attempts: DELIVERY_ATTEMPTS, ...options.retry },
        kind: DELIVERY_KIND + name,
        input: options.input,
      }),
      atEnd: endJobOf(options.onEnd, where),
    }),
  });
}

function oneOf<T>(table: Record<string, T>, value: unknown, setting: string, where: string): T {
  if (typeof value === "string" && Object.hasOwn(table, value)) return table[value]!;
  const names = Object.keys(table).map((key) => `"${key}"`);
  throw new ConfigError(setting, `${where}: ${setting} must be ${names.slice(0, -1).join(", ")} or ${names.at(-1)}.`);
}
