// Keys of files. A key is a relative path: the same text is a path in a folder, a key in a bucket and a path in a URL.
import { showValue } from "../base/show-value.js";
import { StorageKeyError } from "./storage-errors.js";

/** S3 allows 1,024 bytes; file systems allow 255 for a name. */
const KEY_BYTES_MAX = 1_024;
const NAME_BYTES_MAX = 255;

/** Throws unless the key stays inside of the storage, whatever the storage is. */
export function checkKey(key: unknown): string {
  const why = faultOf(key);
  if (why === undefined) return key as string;
  throw new StorageKeyError(showValue(key), why);
}

function faultOf(key: unknown): string | undefined {
  if (typeof key !== "string") return "it is not a text";
  if (key === "") return "it is empty";
  if (!key.isWellFormed() || hasControl(key)) return "it contains control characters or half a character";
  if (key.includes("\\")) return "it contains a backslash";
  if (Buffer.byteLength(key) > KEY_BYTES_MAX) return `it is longer than ${KEY_BYTES_MAX} bytes`;
  for (const name of key.split("/")) {
    if (name === "") return "it begins or ends with a slash, or has two in a row";
    if (name.startsWith(".")) return `the name "${name}" begins with a dot`;
    if (Buffer.byteLength(name) > NAME_BYTES_MAX) return `a name in it is longer than ${NAME_BYTES_MAX} bytes`;
  }
  return undefined;
}

const hasControl = (text: string): boolean => [...text].some((character) => character < " " || character === "\u007f");

/** A prefix is the beginning of a key: it may end anywhere, and may be empty. */
export function checkPrefix(prefix: unknown): string {
  if (prefix === undefined || prefix === "") return "";
  if (typeof prefix !== "string") throw new StorageKeyError(showValue(prefix), "a prefix is a text");
  checkKey(prefix.endsWith("/") ? `${prefix}x` : prefix);
  return prefix;
}

/** The key as the path of a URL: slashes stay, everything else is escaped as RFC 3986 says, which is what S3 signs. */
export const urlPathOf = (key: string): string => key.split("/").map(escapeUrl).join("/");

export const escapeUrl = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
