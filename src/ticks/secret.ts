// The secret that callers of a tick must know. Digests are compared, in constant time, with every live secret: neither the length of a guess
// nor how much of it is right can be measured. Without a secret there is no handler.
import { createHash, timingSafeEqual } from "node:crypto";
import { ConfigError } from "../base/errors.js";

const BYTES_MIN = 32;
/** The one in use, and the one that takes its place. */
const SECRETS_MAX = 2;

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** One text has them with commas, as the environment does: that is often handed on as it is. What is refused is never shown. */
export function checkSecrets(given: unknown = process.env["FAIRMILL_INTERNAL_SECRET"]): {
  secretDigests: readonly Buffer[];
  secret: string;
} {
  const listed = typeof given === "string" ? given.split(",").map((one) => one.trim()) : given;
  if (!Array.isArray(listed) || listed.length === 0 || listed.includes(""))
    throw new ConfigError(
      "secret",
      "secret: pass one, or set FAIRMILL_INTERNAL_SECRET: without it every caller could start ticks. `openssl rand -hex 32` makes one.",
    );
  if (!listed.every((one): one is string => typeof one === "string" && Buffer.byteLength(one) >= BYTES_MIN))
    throw new ConfigError(
      "secret",
      `secret (FAIRMILL_INTERNAL_SECRET): each must have ${BYTES_MIN} bytes or more: \`openssl rand -hex 32\` makes one.`,
    );
  if (listed.length > SECRETS_MAX || new Set(listed).size < listed.length)
    throw new ConfigError(
      "secret",
      "secret: at most two different ones: the new and the old, while one takes the other's place.",
    );
  return { secretDigests: listed.map(digestOf), secret: listed[0]! };
}

/** Whether the request names a live secret, in `x-internal-secret` or as a bearer token. Where both are there, both must be right. */
export function isAuthorized(headers: Headers, digests: readonly Buffer[]): boolean {
  const authorization = headers.get("authorization");
  const guesses = [headers.get("x-internal-secret"), authorization === null ? null : bearerOf(authorization)];
  const given = guesses.filter((guess) => guess !== null);
  if (given.length === 0) return false;
  // No shortcut: as many comparisons for a wrong guess as for a right one.
  const answers = given.map((guess) => {
    const digest = digestOf(guess);
    return digests.map((live) => timingSafeEqual(digest, live)).includes(true);
  });
  return !answers.includes(false);
}

/** What follows the word; a text of another scheme is a wrong guess. */
const bearerOf = (authorization: string): string => /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? "";
