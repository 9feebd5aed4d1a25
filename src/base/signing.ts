// Texts that only this server can have written: session cookies, and tokens for one job or one question. Signed by keys that are derived from the internal secret,
// a key for each purpose; while secrets rotate, every one of them is accepted and the first signs.
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import { ConfigError } from "../base/errors.js";

export type Purpose = "session" | "job" | "answer";

const SECRET_BYTES_MIN = 32;

/** Comma-separated, each of at least 32 bytes. The text is never repeated in a message. */
export function checkSecrets(text: string, setting: string): string[] {
  const secrets = text.split(",").map((one) => one.trim());
  if (secrets.length > 5 || secrets.some((one) => Buffer.byteLength(one) < SECRET_BYTES_MIN))
    throw new ConfigError(
      setting,
      `${setting}: pass a secret of at least ${SECRET_BYTES_MIN} bytes; up to 5, comma-separated, while they rotate.`,
    );
  return secrets;
}

export class Signer {
  readonly #keys: readonly Buffer[];

  /** Without secrets the key lives as long as the process. */
  constructor(secrets: readonly string[] | undefined, purpose: Purpose) {
    const sources = secrets ?? [randomBytes(32).toString("hex")];
    this.#keys = sources.map((one) => Buffer.from(hkdfSync("sha256", one, "", `fairmill ${purpose} v1`, 32)));
  }

  sign(content: object): string {
    const body = Buffer.from(JSON.stringify(content)).toString("base64url");
    return `${body}.${mac(this.#keys[0]!, body)}`;
  }

  /** What was signed; undefined: it was not signed here, or was changed. */
  read(token: string): unknown {
    const [, body, sum] = /^([\w-]{1,2000})\.([\w-]{43})$/.exec(token) ?? [];
    if (body === undefined || sum === undefined) return undefined;
    const given = Buffer.from(sum);
    let isOurs = false;
    for (const key of this.#keys) if (timingSafeEqual(Buffer.from(mac(key, body)), given)) isOurs = true;
    if (!isOurs) return undefined;
    return JSON.parse(Buffer.from(body, "base64url").toString()) as unknown;
  }
}

const mac = (key: Buffer, body: string): string => createHmac("sha256", key).update(body).digest("base64url");
