// What stands between a job's contents and the database: payloads, results, progress and steps go through a codec where one is set, so that
// the tables hold only what the codec made of them. This file is the seam; `aes-codec.ts` is the codec that comes with the package.

import { ConfigError, FairmillError } from "../../base/errors.js";
import { readable } from "../../base/settings.js";
import { SealedError } from "./codec-errors.js";

/** What a sealed value belongs to. A codec binds the value to it, so that it means nothing in any other place. */
export interface SealContext {
  readonly kind: string;
  readonly tenant: string;
  readonly what: "payload" | "result" | "progress" | "step" | "log";
}

export interface Codec {
  /** From JSON to the JSON that is stored. */
  encode(json: string, context: SealContext): string;
  /** From what is stored, parsed, to the value that was encoded. Throws when it cannot be had. */
  decode(stored: unknown, context: SealContext): unknown;
  /** A text that is the same for the same input and does not reveal what it was: the unique key by whole input. Default: SHA-256. */
  fingerprint?(canonicalJson: string, context: Pick<SealContext, "kind" | "tenant">): string;
}

/** The member by which a sealed value is known; its value is the version of the form. */
export const SEALED = "fairmill:sealed";

/** Letters of a stored form: what is sealed must stay below the wall in the schema, with room for what PostgreSQL adds. */
export const SEALED_CHARS_MAX = 2 * 1024 * 1024 - 4096;

/** A worker without a codec knows by this that a payload is not for it. */
export const isSealed = (stored: unknown): stored is Record<string, unknown> =>
  typeof stored === "object" && stored !== null && Object.hasOwn(stored, SEALED);

/** A name of a key: short, and harmless wherever it is shown. */
export const isKeyId = (value: unknown): value is string =>
  typeof value === "string" && /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(value);

/** The key that a sealed value names, if it names one. */
export function keyIdOf(stored: unknown): string | undefined {
  const id = isSealed(stored) ? stored["kid"] : undefined;
  return isKeyId(id) ? id : undefined;
}

/** What is stored instead of `json`. Without a codec, `json` itself. */
export function sealJson(
  codec: Codec | undefined,
  json: string,
  of: Owner,
  what: SealContext["what"],
  charsMax = SEALED_CHARS_MAX,
): string {
  if (codec === undefined) return json;
  const stored: unknown = codec.encode(json, { kind: of.kind, tenant: of.tenant, what });
  if (typeof stored !== "string" || stored === "")
    throw new FairmillError("FAIRMILL_CODEC", `The codec made no text of a ${what}: encode must return JSON.`);
  if (stored.length > charsMax)
    throw new FairmillError(
      "FAIRMILL_CODEC",
      `The codec made ${stored.length} letters of a ${what} where ${charsMax} are kept.`,
    );
  return stored;
}

/** What was sealed. Throws when it cannot be had here; without a codec that is the case for everything that is sealed. */
export function openJson(codec: Codec | undefined, stored: unknown, of: Owner, what: SealContext["what"]): unknown {
  if (codec !== undefined) return codec.decode(stored, { kind: of.kind, tenant: of.tenant, what });
  if (isSealed(stored)) throw new SealedError(what, keyIdOf(stored));
  return stored;
}

type Owner = Pick<SealContext, "kind" | "tenant">;

/** Throws unless the value is a codec. Never shows it: a caller that passes keys instead of a codec must not find them in a log. */
export function checkCodec(codec: unknown): Codec | undefined {
  if (codec === undefined) return undefined;
  if (readable("codec", "codec", () => isCodec(codec))) return codec as Codec;
  throw new ConfigError(
    "codec",
    "codec: pass what createCodec({ keys, current }) returns, or encode and decode of yours.",
  );
}

function isCodec(codec: unknown): boolean {
  const { encode, decode, fingerprint } = (codec ?? {}) as Partial<Codec>;
  return (
    typeof encode === "function" &&
    typeof decode === "function" &&
    (fingerprint === undefined || typeof fingerprint === "function")
  );
}
