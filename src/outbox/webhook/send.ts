// Sends one webhook, once: signed, to a checked address, within its limits. Every failure says whether the receiver certainly did not
// take it. Knows no queue and no database.
import { type ClientRequest, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { type Clock, checkClock, systemClock } from "../../base/clock.js";
import { ConfigError } from "../../base/errors.js";
import { readable, refuseUnknown } from "../../base/settings.js";
import { readAnswer, type WebhookAnswer } from "./answer.js";
import { Attempt } from "./attempt.js";
import {
  type Address,
  addressesOf,
  type Destination,
  type DestinationRules,
  destinationOf,
  type Resolve,
  systemResolve,
} from "./destination.js";
import { type Headers, requestHeaders } from "./headers.js";
import { judge, retryAfterOf } from "./judge.js";
import { type SigningKeys, signingKeys, signWebhook, type WebhookSecret } from "./signature.js";
import { checkLimits, type WebhookLimits } from "./webhook-limits.js";

export interface WebhookMessage {
  readonly url: string | URL;
  /** What is sent, as it is. */
  readonly body: string | Uint8Array;
  /** The same in every try: receivers know repeated messages by it. */
  readonly idempotencyKey: string;
  /** One, or several while they are changed: all of them sign. */
  readonly secret: WebhookSecret | readonly WebhookSecret[];
  /** Besides our own; default content-type: application/json. */
  readonly headers?: Headers;
  /** Ends the sending. */
  readonly signal?: AbortSignal;
  readonly limits?: WebhookLimits;
  /** Lets it reach private addresses: for tests and inside networks. Default false. */
  readonly allowPrivate?: boolean;
  /** Default: as allowPrivate. */
  readonly allowHttp?: boolean;
  /** Default: 80, 443 and those from 1024. */
  readonly ports?: readonly number[];
  /** Certificates to trust instead of the system's. */
  readonly ca?: string | Uint8Array;
  /** For tests. */
  readonly resolve?: Resolve;
  readonly clock?: Clock;
}

const KNOWN: Record<keyof WebhookMessage, true> = {
  url: true,
  body: true,
  idempotencyKey: true,
  secret: true,
  headers: true,
  signal: true,
  limits: true,
  allowPrivate: true,
  allowHttp: true,
  ports: true,
  ca: true,
  resolve: true,
  clock: true,
};

const BODY_BYTES_MAX = 16 * 1024 * 1024;

/** Resolves with the answer when the receiver took the message; else throws one of the WebhookErrors. */
export async function sendWebhook(message: WebhookMessage): Promise<WebhookAnswer> {
  const { clock, resolve, limits, body, rules, destination, headers } = readable("message", "sendWebhook", () =>
    prepare(message),
  );
  const attempt = new Attempt(destination.origin, clock, message.signal);
  try {
    attempt.limit(limits.timeoutMs, `no answer within ${limits.timeoutMs} ms`);
    const forgetConnect = attempt.limit(limits.connectMs, `no connection within ${limits.connectMs} ms`);
    const addresses = await attempt.orStopped(addressesOf(destination, rules, resolve));
    const request = open(destination, addresses, headers, message.ca);
    const response = await attempt.exchange(request, body, forgetConnect);
    const answer = await attempt.readToEnd(readAnswer(response, limits.answerReadBytesMax, limits.answerBytesMax));
    const asked = [429, 503].includes(answer.status) ? response.headers["retry-after"] : undefined;
    judge(destination.origin, answer, retryAfterOf(asked, clock.now()));
    return answer;
  } finally {
    attempt.end();
  }
}

/** Everything that can be wrong with a message is known before anything is sent. */
function prepare(message: WebhookMessage) {
  refuseUnknown(message, Object.keys(KNOWN), "sendWebhook");
  const { resolve = systemResolve, signal } = message;
  const clock = message.clock === undefined ? systemClock : checkClock(message.clock);
  if (typeof resolve !== "function") throw new ConfigError("resolve", "resolve: must be a function of a name.");
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new ConfigError("signal", "signal: must be the signal of an AbortController.");
  const keys = signingKeys(message.secret, "secret");
  const limits = checkLimits(message.limits);
  const body = bodyOf(message.body);
  const rules = rulesOf(message);
  const destination = destinationOf(message.url, rules);
  const headers = { ...requestHeaders(message.headers), ...signed(keys, message.idempotencyKey, body, clock) };
  return { clock, resolve, limits, body, rules, destination, headers };
}

/** Where it may go. */
export function rulesOf({
  allowPrivate = false,
  allowHttp = allowPrivate,
  ports,
}: Pick<WebhookMessage, "allowPrivate" | "allowHttp" | "ports">): DestinationRules {
  return { allowPrivate, allowHttp, ports };
}

function bodyOf(body: unknown): Buffer {
  const bytes =
    typeof body === "string" ? Buffer.from(body) : body instanceof Uint8Array ? Buffer.from(body) : undefined;
  if (bytes === undefined) throw new ConfigError("body", "body: must be a text or bytes.");
  if (bytes.length > BODY_BYTES_MAX)
    throw new ConfigError("body", `body: has ${bytes.length} bytes, more than ${BODY_BYTES_MAX}.`);
  return bytes;
}

function signed(keys: SigningKeys, idempotencyKey: string, body: Buffer, clock: Clock): Headers {
  if (
    typeof idempotencyKey !== "string" ||
    idempotencyKey.length === 0 ||
    idempotencyKey.length > 500 ||
    !idempotencyKey.isWellFormed()
  )
    throw new ConfigError("idempotencyKey", "idempotencyKey: must be a text of 1 to 500 characters.");
  const headers = signWebhook(keys, { idempotencyKey, body, nowMs: clock.now() });
  return { ...headers, "idempotency-key": headers["webhook-id"], "content-length": String(body.length) };
}

/** A connection of its own, to one of the checked addresses and to nothing else. */
function open(
  to: Destination,
  addresses: readonly Address[],
  headers: Headers,
  ca: WebhookMessage["ca"],
): ClientRequest {
  const shared = {
    method: "POST",
    hostname: to.hostname,
    port: to.port,
    path: to.path,
    headers,
    lookup: pinned(addresses),
    // No pool: a connection that is kept could have been opened under other rules.
    agent: false,
    setHost: true,
  } as const;
  if (!to.isSecure) return requestHttp(shared);
  return requestHttps({
    ...shared,
    // The certificate must be the name's, not the address's. A full stop at the end of a name is in no certificate.
    ...(isIP(to.hostname) === 0 ? { servername: to.hostname.replace(/\.$/, "") } : {}),
    // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca: Buffer.from(ca) }),
  });
}

const pinned =
  (addresses: readonly Address[]): LookupFunction =>
  (_hostname, options, callback) => {
    if (options.all) return callback(null, [...addresses]);
    const [first] = addresses;
    callback(null, first!.address, first!.family);
  };
