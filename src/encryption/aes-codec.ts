// The codec that comes with the package: AES-256-GCM under named keys. One key seals, all of them open, so that keys can be changed
// while jobs wait. A sealed value is bound to its kind, its tenant and to what it is; the job's id is not known when it is sealed.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { ConfigError } from "../base/errors.js";
import { readable, refuseUnknown } from "../base/settings.js";
import { type Codec, isKeyId, isSealed, keyIdOf, SEALED, type SealContext } from "../core/job/codec.js";
import { KeyUnknownError, NotSealedError, SealBrokenError, SealedError } from "../core/job/codec-errors.js";

export interface CodecOptions {
  /** Keys by name, each of 32 bytes: a Buffer, or its text in base64. */
  readonly keys: Readonly<Record<string, Uint8Array | string>>;
  /** The name of the key that seals; the others only open. */
  readonly current: string;
  /** The name of the key behind unique keys by whole input; default: `current`. Keep the old one while its jobs may be repeated. */
  readonly uniqueWith?: string;
  /** Whether values that were never sealed are taken as they are; default true. */
  readonly acceptPlain?: boolean;
}

const VERSION = 1;
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEYS_MAX = 100;
const MEMBERS = [SEALED, "kid", "iv", "tag", "data"];

/** Seals payloads, results, progress and steps with AES-256-GCM: `createCodec({ keys: { "2026-11": key }, current: "2026-11" })`. */
export const createCodec = (options: CodecOptions): Codec => new AesCodec(options);

class AesCodec implements Codec {
  // Private fields, so that neither JSON nor an inspection of settings shows a key.
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #current: string;
  readonly #uniqueKey: Buffer;
  readonly #acceptPlain: boolean;

  constructor(options: CodecOptions) {
    if (typeof options !== "object" || options === null)
      throw new ConfigError("codec", 'createCodec: pass { keys: { "2026-11": key }, current: "2026-11" }.');
    refuseUnknown(options, ["keys", "current", "uniqueWith", "acceptPlain"], "createCodec");
    const { acceptPlain = true } = options;
    if (typeof acceptPlain !== "boolean") throw new ConfigError("acceptPlain", "acceptPlain: must be true or false.");
    this.#keys = readKeys(options.keys);
    this.#current = nameIn(this.#keys, options.current, "current");
    this.#acceptPlain = acceptPlain;
    // A key of its own: what is known of fingerprints says nothing about what is sealed.
    const source = this.#keys.get(nameIn(this.#keys, options.uniqueWith ?? options.current, "uniqueWith"))!;
    this.#uniqueKey = Buffer.from(hkdfSync("sha256", source, "", "fairmill unique key v1", KEY_BYTES));
  }

  encode(json: string, context: SealContext): string {
    const kid = this.#current;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#keys.get(kid)!, iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(boundTo(kid, context));
    const data = Buffer.concat([cipher.update(json, "utf8"), cipher.final()]).toString("base64");
    // Names of keys and base64 need no quoting.
    return `{"${SEALED}":${VERSION},"kid":"${kid}","iv":"${iv.toString("base64")}","tag":"${cipher.getAuthTag().toString("base64")}","data":"${data}"}`;
  }

  decode(stored: unknown, context: SealContext): unknown {
    if (!isSealed(stored)) {
      if (this.#acceptPlain) return stored;
      throw new NotSealedError(context.what);
    }
    const { kid, iv, tag, data } = readSealed(stored, context.what);
    const key = this.#keys.get(kid);
    if (key === undefined) throw new KeyUnknownError(context.what, kid);
    try {
      const decipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(boundTo(kid, context));
      decipher.setAuthTag(tag);
      return JSON.parse(decipher.update(data, undefined, "utf8") + decipher.final("utf8"));
    } catch {
      // Without its cause: the parser's messages quote what they could not read.
      throw new SealBrokenError(context.what, kid);
    }
  }

  fingerprint(canonicalJson: string, { kind, tenant }: Pick<SealContext, "kind" | "tenant">): string {
    return createHmac("sha256", this.#uniqueKey)
      .update(JSON.stringify([tenant, kind, canonicalJson]))
      .digest("hex");
  }

  /** What may be known of it. */
  toJSON(): object {
    return { current: this.#current, keys: [...this.#keys.keys()], acceptPlain: this.#acceptPlain };
  }
}

/** As JSON, so that no two contexts have the same text, whatever names contain. */
const boundTo = (kid: string, { kind, tenant, what }: SealContext): Buffer =>
  Buffer.from(JSON.stringify(["fairmill", VERSION, kid, what, tenant, kind]));

interface Sealed {
  readonly kid: string;
  readonly iv: Buffer;
  readonly tag: Buffer;
  readonly data: Buffer;
}

function readSealed(stored: Record<string, unknown>, what: SealContext["what"]): Sealed {
  const version = stored[SEALED];
  const kid = keyIdOf(stored);
  // A form of a later version of this package is no damage: a worker of that version will open it.
  if (Number.isInteger(version) && (version as number) > VERSION) throw new SealedError(what, kid, version as number);
  const iv = bytesOf(stored["iv"]);
  const tag = bytesOf(stored["tag"]);
  const data = bytesOf(stored["data"]);
  const fits =
    version === VERSION &&
    Object.keys(stored).length === MEMBERS.length &&
    MEMBERS.every((member) => Object.hasOwn(stored, member));
  if (!fits || kid === undefined || iv?.length !== IV_BYTES || tag?.length !== TAG_BYTES || data === undefined)
    throw new SealBrokenError(what, kid);
  return { kid, iv, tag, data };
}

/** Node forgives much in base64: only the text that it would write itself is taken. */
function bytesOf(text: unknown): Buffer | undefined {
  if (typeof text !== "string") return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}

const readKeys = (keys: unknown): ReadonlyMap<string, KeyObject> => readable("keys", "createCodec", () => keysIn(keys));

function keysIn(keys: unknown): ReadonlyMap<string, KeyObject> {
  if (typeof keys !== "object" || keys === null || Array.isArray(keys))
    throw new ConfigError("keys", 'keys: must be an object of keys by name, like { "2026-11": key }.');
  const entries = Object.entries(keys);
  if (entries.length === 0 || entries.length > KEYS_MAX)
    throw new ConfigError("keys", `keys: there must be 1 to ${KEYS_MAX} of them, not ${entries.length}.`);
  return new Map(entries.map(([name, key]) => [checkName(name), createSecretKey(readKey(name, key))]));
}

function checkName(name: string): string {
  if (isKeyId(name)) return name;
  // Not shown: a caller may have passed the key as its name.
  throw new ConfigError(
    "keys",
    "keys: a name must have 1 to 64 of A-Z, a-z, 0-9, dot, _ and -, and begin with a letter or digit.",
  );
}

/** Says what is wrong with a key and never what it is. */
function readKey(name: string, key: unknown): Uint8Array {
  const bytes = typeof key === "string" ? bytesOf(key) : key instanceof Uint8Array ? key : undefined;
  if (bytes === undefined)
    throw new ConfigError(
      `keys.${name}`,
      `keys.${name}: must be a Buffer or text in base64, with padding and no spaces.`,
    );
  if (bytes.length !== KEY_BYTES)
    throw new ConfigError(
      `keys.${name}`,
      `keys.${name}: has ${bytes.length} bytes where AES-256 needs ${KEY_BYTES}. Make one: openssl rand -base64 32`,
    );
  return bytes;
}

function nameIn(keys: ReadonlyMap<string, KeyObject>, name: unknown, setting: string): string {
  if (typeof name === "string" && keys.has(name)) return name;
  throw new ConfigError(setting, `${setting}: must be the name of one of the keys: ${[...keys.keys()].join(", ")}.`);
}
