// A channel whose receivers are webhooks: messages leave signed, and what is certain of a failure is reported as channels expect it.

import { recordError } from "../../base/error-record.js";
import { ConfigError } from "../../base/errors.js";
import { readable, refuseUnknown } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";
import type { SchemaInput, SchemaOutput, StandardSchema } from "../../base/standard-schema.js";
import { type Channel, type ChannelOptions, defineChannel, type SendContext } from "../channel.js";
import { NotDeliveredError } from "../delivery-errors.js";
import { destinationOf } from "./destination.js";
import { rulesOf, sendWebhook, type WebhookMessage } from "./send.js";
import { signingKeys, type WebhookSecret } from "./signature.js";
import { checkLimits, type WebhookLimits } from "./webhook-limits.js";

/** What `sendWebhook` takes besides the message itself. */
type Sending = Pick<WebhookMessage, "allowPrivate" | "allowHttp" | "ports" | "ca" | "resolve" | "clock">;
type Secrets = WebhookSecret | readonly WebhookSecret[];
type OfMessage<Output, Value> = (message: Output, context: SendContext) => Value | Promise<Value>;

export interface WebhookChannelOptions<Schema extends StandardSchema | undefined, Input, Output>
  extends Omit<ChannelOptions<Schema, Input, Output>, "receiver" | "send">,
    Sending {
  /** Where to, or where this message goes. */
  readonly url: string | URL | OfMessage<Output, string | URL>;
  /** The secret that signs, or the one for this message: a tenant's own secret, say. */
  readonly secret: Secrets | OfMessage<Output, Secrets>;
  /** What is sent; default: the message as JSON. */
  readonly body?: (message: Output) => string | Uint8Array;
  readonly headers?: NonNullable<WebhookMessage["headers"]> | OfMessage<Output, NonNullable<WebhookMessage["headers"]>>;
  /**
   * The key that the receiver gets; default: the message's own. That one is unique within tenant and channel: where one receiver is sent messages
   * of several, put their names into it.
   */
  readonly idempotencyKey?: (message: Output, context: SendContext) => string;
  /** How long one try may take, and how much of an answer is kept. */
  readonly webhookLimits?: WebhookLimits;
  /** Default "takes-key": the convention asks receivers to remember webhook-id. */
  readonly receiver?: ChannelOptions<Schema, Input, Output>["receiver"];
}

const SENDING = ["allowPrivate", "allowHttp", "ports", "ca", "resolve", "clock"] as const;

/** A record and not a list: a setting that the type has and this lacks, or the other way round, does not compile. */
// biome-ignore lint/suspicious/noExplicitAny: only the names count.
const KNOWN: Record<keyof WebhookChannelOptions<any, any, any>, true> = {
  name: true,
  input: true,
  url: true,
  secret: true,
  body: true,
  headers: true,
  idempotencyKey: true,
  webhookLimits: true,
  receiver: true,
  ask: true,
  onUncertain: true,
  askAfter: true,
  onEnd: true,
  queue: true,
  priority: true,
  timeout: true,
  expire: true,
  retry: true,
  key: true,
  limits: true,
  allowPrivate: true,
  allowHttp: true,
  ports: true,
  ca: true,
  resolve: true,
  clock: true,
};

/** Declares a channel of signed webhooks. Without a schema, name the message's type: `webhookChannel<{ id: string }>({ name: "…", … })`. */
export function webhookChannel<Schema extends StandardSchema>(
  options: WebhookChannelOptions<Schema, SchemaInput<Schema>, SchemaOutput<Schema>> & { readonly input: Schema },
): Channel<SchemaInput<Schema>, SchemaOutput<Schema>>;
export function webhookChannel<Input = unknown>(
  options: WebhookChannelOptions<undefined, Input, Input> & { readonly input?: undefined },
): Channel<Input, Input>;
// biome-ignore lint/suspicious/noExplicitAny: the overloads above are what callers see.
export function webhookChannel(options: WebhookChannelOptions<any, any, any>): Channel<any, any> {
  return readable("options", "webhookChannel", () => declareChannel(options));
}

// biome-ignore lint/suspicious/noExplicitAny: see above.
function declareChannel(options: WebhookChannelOptions<any, any, any>): Channel<any, any> {
  refuseUnknown(options, Object.keys(KNOWN), `webhookChannel(${showValue(options.name)})`);
  const { url, secret, body = JSON.stringify, headers, idempotencyKey, webhookLimits, receiver, ...rest } = options;
  const sending: Sending = Object.fromEntries(
    SENDING.filter((key) => rest[key] !== undefined).map((key) => [key, rest[key]]),
  );
  // What is there already is checked now, and not when the first message fails.
  if (typeof secret !== "function") signingKeys(secret, "secret");
  if (typeof url !== "function") destinationOf(url, rulesOf(sending));
  checkLimits(webhookLimits);
  const channel = Object.fromEntries(Object.entries(rest).filter(([key]) => !SENDING.includes(key as never)));
  const prepare = async (message: unknown, context: SendContext): Promise<WebhookMessage> => ({
    ...sending,
    url: await of(url, message, context),
    secret: await of(secret, message, context),
    ...headersOf(context.trace, headers && (await of(headers, message, context))),
    ...(webhookLimits && { limits: webhookLimits }),
    body: body(message),
    idempotencyKey: idempotencyKey?.(message, context) ?? context.idempotencyKey,
    signal: context.signal,
  });
  return defineChannel({
    ...(channel as Pick<typeof rest, "name">),
    receiver: receiver ?? "takes-key",
    send: async (message: unknown, context: SendContext) =>
      sendWebhook(await prepare(message, context).catch(notSent)).catch(notTaken),
  });
}

/** The receiver goes on with the trace of the message, unless the application says otherwise. */
function headersOf(trace: string | null, given: WebhookMessage["headers"]): Pick<WebhookMessage, "headers"> {
  if (trace === null || Object.keys(given ?? {}).some((name) => name.toLowerCase() === "traceparent"))
    return given ? { headers: given } : {};
  return { headers: { traceparent: trace, ...given } };
}

const of = <Value>(given: Value | OfMessage<unknown, Value>, message: unknown, context: SendContext) =>
  typeof given === "function" ? (given as OfMessage<unknown, Value>)(message, context) : given;

/** Functions of the application run before anything is sent: whatever they throw, the message did not arrive. */
function notSent(cause: unknown): never {
  const retryable = (cause as { retryable?: unknown } | undefined)?.retryable !== false;
  throw new NotDeliveredError(`The webhook was not sent: ${recordError(cause).message}`, { cause, retryable });
}

/** Settings are checked before anything is sent, too. The other errors say by themselves what is certain. */
function notTaken(error: unknown): never {
  if (error instanceof ConfigError)
    throw new NotDeliveredError(`The webhook was not sent: ${error.message}`, { cause: error, retryable: false });
  throw error;
}
