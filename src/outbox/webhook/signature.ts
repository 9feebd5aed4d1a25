// The signature of a webhook, after the Standard Webhooks convention: headers webhook-id, webhook-timestamp and webhook-signature, the
// last one an HMAC-SHA256 over all three parts. Several secrets may be alive while they are changed: all of them sign, one is enough.
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import { type Clock, systemClock } from "../../base/clock.js";
import { type Duration, toMs } from "../../base/duration.js";
import { ConfigError } from "../../base/errors.js";
import { readable, refuseUnknown } from "../../base/settings.js";
import { WebhookSignatureError } from "./webhook-errors.js";

/** `whsec_` and base64, or the bytes themselves. At least 24 bytes. */
export type WebhookSecret = string | Uint8Array;

const PREFIX = "whsec_";
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 512;
const SECRETS_MAX = 10;
const SIGNATURES_MAX = 20;
const HEADER_CHARS_MAX = 8_192;

/** Checked once and kept in a form that no log and no JSON shows. */
export type SigningKeys = readonly KeyObject[];

export function signingKeys(secrets: WebhookSecret | readonly WebhookSecret[], setting: string): SigningKeys {
  const list = Array.isArray(secrets) ? secrets : [secrets];
  if (list.length === 0 || list.length > SECRETS_MAX)
    throw new ConfigError(setting, `${setting}: there must be 1 to ${SECRETS_MAX} of them, not ${list.length}.`);
  return list.map((secret) => createSecretKey(readSecret(secret, setting)));
}

/** Says what is wrong with a secret and never what it is. */
function readSecret(secret: unknown, setting: string): Uint8Array {
  const bytes = secret instanceof Uint8Array ? secret : typeof secret === "string" ? decode(secret) : undefined;
  if (bytes === undefined)
    throw new ConfigError(setting, `${setting}: must be "${PREFIX}" and base64, with padding, or a Buffer.`);
  if (bytes.length < SECRET_BYTES_MIN || bytes.length > SECRET_BYTES_MAX)
    throw new ConfigError(
      setting,
      `${setting}: has ${bytes.length} bytes; ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} are allowed. Make one: echo ${PREFIX}$(openssl rand -base64 32)`,
    );
  return bytes;
}

/** Node forgives much in base64: only the text that it would write itself is taken. */
function decode(secret: string): Buffer | undefined {
  if (!secret.startsWith(PREFIX)) return undefined;
  const text = secret.slice(PREFIX.length);
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}

/**
 * A key as the header webhook-id: whatever it contains, and each key another. Without a full stop, which parts what is signed: nothing
 * of the id can be taken for the time, or for the body.
 */
export const idOf = (idempotencyKey: string): string => encodeURIComponent(idempotencyKey).replaceAll(".", "%2E");

export interface SignedHeaders {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

export function signWebhook(
  keys: SigningKeys,
  { idempotencyKey, body, nowMs }: { idempotencyKey: string; body: Uint8Array; nowMs: number },
): SignedHeaders {
  const id = idOf(idempotencyKey);
  const timestamp = String(Math.floor(nowMs / 1000));
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": keys.map((key) => `v1,${digest(key, id, timestamp, body).toString("base64")}`).join(" "),
  };
}

const digest = (key: KeyObject, id: string, timestamp: string, body: Uint8Array): Buffer =>
  createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();

export interface VerifyOptions {
  /** Of the request, as Node's http or fetch give them. */
  readonly headers:
    | Readonly<Record<string, string | readonly string[] | undefined>>
    | { get(name: string): string | null };
  /** As it came over the wire: parsed and written again it is another one. */
  readonly body: string | Uint8Array;
  /** One, or several while they are changed. */
  readonly secrets: WebhookSecret | readonly WebhookSecret[];
  /** How far the sender's clock and the way may be off, both ways; default "5m". */
  readonly tolerance?: Duration;
  /** For tests. */
  readonly clock?: Clock;
}

/** What is sure of a webhook that passed. */
export interface VerifiedWebhook {
  /** The key under which it is sent, however often: remember it, and do nothing for one that you know. */
  readonly idempotencyKey: string;
  readonly sentAt: Date;
}

/** For receivers: throws a WebhookSignatureError unless the sender has one of the secrets, and sent it just now. */
export const verifyWebhook = (options: VerifyOptions): VerifiedWebhook =>
  readable("options", "verifyWebhook", () => verify(options));

function verify(options: VerifyOptions): VerifiedWebhook {
  refuseUnknown(options, ["headers", "body", "secrets", "tolerance", "clock"], "verifyWebhook");
  const keys = signingKeys(options.secrets, "secrets");
  const toleranceMs = toMs(options.tolerance ?? "5m", "tolerance");
  const body = typeof options.body === "string" ? Buffer.from(options.body) : options.body;
  if (!(body instanceof Uint8Array))
    throw new ConfigError("body", "body: must be the text or the bytes that came, not what was parsed from them.");
  const id = headerOf(options.headers, "webhook-id");
  const timestamp = headerOf(options.headers, "webhook-timestamp");
  const given = signaturesIn(headerOf(options.headers, "webhook-signature"));
  if (id.includes(".")) throw new WebhookSignatureError("malformed", "webhook-id has a full stop");
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookSignatureError("malformed", "webhook-timestamp is no time");
  // Every pair is compared to its end: how long it takes says nothing.
  let fits = 0;
  for (const key of keys) {
    const right = digest(key, id, timestamp, body);
    for (const signature of given) fits |= Number(timingSafeEqual(right, signature));
  }
  if (fits === 0) throw new WebhookSignatureError("signature", "no signature is of these secrets");
  const sentAtMs = Number(timestamp) * 1000;
  const nowMs = (options.clock ?? systemClock).now();
  // The time was cut to whole seconds.
  if (sentAtMs + 999 < nowMs - toleranceMs) throw new WebhookSignatureError("time", "it is too old");
  if (sentAtMs > nowMs + toleranceMs) throw new WebhookSignatureError("time", "it is from the future");
  return { idempotencyKey: keyOf(id), sentAt: new Date(sentAtMs) };
}

function keyOf(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    // Another sender's, with a percent sign of its own.
    return id;
  }
}

const hasGet = (headers: VerifyOptions["headers"]): headers is { get(name: string): string | null } =>
  typeof headers.get === "function";

/** Given once, or not at all. */
function headerOf(headers: VerifyOptions["headers"], name: string): string {
  const found = hasGet(headers)
    ? [headers.get(name) ?? []].flat()
    : Object.keys(headers)
        .filter((key) => key.toLowerCase() === name)
        .flatMap((key) => headers[key] ?? []);
  if (found.length === 0) throw new WebhookSignatureError("missing", `it has no ${name}`);
  if (found.length > 1) throw new WebhookSignatureError("malformed", `${name} came more than once`);
  if (found[0]!.length > HEADER_CHARS_MAX) throw new WebhookSignatureError("malformed", `${name} is too long`);
  return found[0]!;
}

/** Those of our version; senders may add others. */
function signaturesIn(header: string): Buffer[] {
  return header
    .split(" ")
    .slice(0, SIGNATURES_MAX)
    .filter((part) => part.startsWith("v1,"))
    .map((part) => Buffer.from(part.slice(3), "base64"))
    .filter((bytes) => bytes.length === 32);
}
