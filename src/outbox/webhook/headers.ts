// The headers of a webhook: the caller's, without those that would change the receiver or what was signed.
import { validateHeaderName, validateHeaderValue } from "node:http";
import { ConfigError } from "../../base/errors.js";
import { VERSION } from "../../base/version.js";

export type Headers = Readonly<Record<string, string>>;

/** Ours, and those of the connection. */
const TAKEN = new Set([
  "host",
  "connection",
  "content-length",
  "expect",
  "idempotency-key",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const HEADERS_MAX = 50;
const CHARS_MAX = 8_192;

export function requestHeaders(given: Headers = {}): Headers {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "user-agent": `fairmill/${VERSION}`,
    accept: "*/*",
  };
  const entries = Object.entries(given);
  if (entries.length > HEADERS_MAX) throw new ConfigError("headers", `headers: more than ${HEADERS_MAX}.`);
  for (const [given, value] of entries) {
    const name = given.toLowerCase();
    if (TAKEN.has(name) || name.startsWith("webhook-"))
      throw new ConfigError("headers", `headers: "${name}" is set by the sender itself.`);
    check(name, value);
    headers[name] = value;
  }
  return headers;
}

/** Says which header is wrong and never what is in it. */
function check(name: string, value: unknown): void {
  try {
    validateHeaderName(name);
    if (typeof value !== "string" || value.length > CHARS_MAX) throw new TypeError();
    validateHeaderValue(name, value);
  } catch {
    throw new ConfigError(
      "headers",
      `headers: ${JSON.stringify(name.slice(0, 100))} is no header, or its value is none.`,
    );
  }
}
