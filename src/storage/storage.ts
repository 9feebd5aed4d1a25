// Where files live: stickers, imports, reports. One interface over a folder on disk (the default) and any S3-compatible bucket, with
// public URLs behind a CDN and signed URLs that end.
import type { Duration } from "../base/duration.js";
import { toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { nameOf, oneOf, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { FileTooLargeError } from "./storage-errors.js";
import { checkKey, checkPrefix, urlPathOf } from "./storage-key.js";

/** What is known of a file without reading it. */
export interface FileInfo {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedAt: Date;
}

export interface StoredFile extends FileInfo {
  readonly contentType: string;
  readonly cacheControl: string;
  /** Changes with the content. */
  readonly etag: string;
}

export interface OpenedFile extends StoredFile {
  readonly body: Uint8Array<ArrayBuffer>;
}

export interface PutOptions {
  /** By the ending of the key unless given. */
  readonly contentType?: string;
  /** What browsers and a CDN may keep, and for how long: the storage's own setting unless given. */
  readonly cacheControl?: string;
}

export interface ListOptions {
  readonly prefix?: string;
  /** Keys after this one, in the order of their bytes. */
  readonly after?: string;
  /** At most this many, 1 to 1,000. */
  readonly limit?: number;
}

/** What a kind of storage has to be able to do. Keys and sizes are checked before it is asked. */
export interface StorageDriver {
  put(
    key: string,
    body: Uint8Array<ArrayBuffer>,
    about: { contentType: string; cacheControl: string },
  ): Promise<StoredFile>;
  get(key: string): Promise<OpenedFile | undefined>;
  head(key: string): Promise<StoredFile | undefined>;
  /** False when there was none. A storage that does not know answers true. */
  delete(key: string): Promise<boolean>;
  list(options: { prefix: string; after: string; limit: number }): Promise<readonly FileInfo[]>;
  signedUrl(key: string, expiresMs: number, method: "GET" | "PUT"): Promise<string>;
  /** The address of a public file where no `publicUrl` is set; undefined: this storage has none. */
  readonly publicBase?: string | undefined;
}

export interface StorageOptions {
  readonly name: string;
  readonly driver: StorageDriver;
  /** Where public files are served from: a CDN, or the bucket's own address. */
  readonly publicUrl?: string;
  /** What files say about caching unless a put says otherwise. */
  readonly cacheControl?: string;
  readonly fileBytesMax?: number;
}

/** Files under one key never change here unless they are put again under the same one: a day is safe, and long. */
const CACHE_CONTROL = "public, max-age=86400";
const FILE_BYTES_MAX = 100 * 1024 * 1024;
const LIST_MAX = 1_000;
/** S3 signs for a week at most. */
const SIGNED_MS_MAX = 7 * 86_400_000;

export class Storage {
  readonly name: string;
  readonly #driver: StorageDriver;
  readonly #publicUrl: string | undefined;
  readonly #cacheControl: string;
  readonly #fileBytesMax: number;

  constructor(options: StorageOptions) {
    refuseUnknown(options, ["name", "driver", "publicUrl", "cacheControl", "fileBytesMax"], "defineStorage");
    this.name = nameOf(options.name, "name");
    this.#driver = checkDriver(options.driver);
    this.#publicUrl =
      options.publicUrl === undefined ? options.driver.publicBase : baseUrl(options.publicUrl, "publicUrl");
    this.#cacheControl = headerValue(options.cacheControl ?? CACHE_CONTROL, "cacheControl");
    this.#fileBytesMax = wholeNumber(options.fileBytesMax ?? FILE_BYTES_MAX, 1, 5 * 2 ** 30, "fileBytesMax");
  }

  /** Stores a file whole, instead of one that has the key. Readers see the old file or the new one, never a part. */
  async put(key: string, body: Uint8Array | string, options: PutOptions = {}): Promise<StoredFile> {
    refuseUnknown(options, ["contentType", "cacheControl"], "storage.put");
    const checked = checkKey(key);
    const bytes = bytesOf(body);
    if (bytes.byteLength > this.#fileBytesMax)
      throw new FileTooLargeError(checked, bytes.byteLength, this.#fileBytesMax);
    return this.#driver.put(checked, bytes, {
      contentType: headerValue(options.contentType ?? contentTypeOf(checked), "contentType"),
      cacheControl: headerValue(options.cacheControl ?? this.#cacheControl, "cacheControl"),
    });
  }

  /** The file with its content; undefined when there is none. */
  async get(key: string): Promise<OpenedFile | undefined> {
    return this.#driver.get(checkKey(key));
  }

  /** What is known of the file; undefined when there is none. */
  async head(key: string): Promise<StoredFile | undefined> {
    return this.#driver.head(checkKey(key));
  }

  /** Removes the file. Repeating it is safe. */
  async delete(key: string): Promise<boolean> {
    return this.#driver.delete(checkKey(key));
  }

  /** A page of files in the order of their keys. */
  async list(options: ListOptions = {}): Promise<readonly FileInfo[]> {
    refuseUnknown(options, ["prefix", "after", "limit"], "storage.list");
    return this.#driver.list({
      prefix: checkPrefix(options.prefix),
      after: options.after === undefined ? "" : checkKey(options.after),
      limit: wholeNumber(options.limit ?? LIST_MAX, 1, LIST_MAX, "limit"),
    });
  }

  /** The address under which the file is public, through the CDN if one is set. Whether the file exists is not asked. */
  publicUrl(key: string): string {
    const path = urlPathOf(checkKey(key));
    if (this.#publicUrl === undefined)
      throw new ConfigError(
        "publicUrl",
        `Storage "${this.name}" has no public address. Set publicUrl, or use signedUrl.`,
      );
    return `${this.#publicUrl}/${path}`;
  }

  /** An address that reads (or, with `method: "PUT"`, writes) this one file until it expires, an hour unless set. */
  async signedUrl(
    key: string,
    options: { readonly expires?: Duration; readonly method?: "GET" | "PUT" } = {},
  ): Promise<string> {
    refuseUnknown(options, ["expires", "method"], "storage.signedUrl");
    const ms = toMs(options.expires ?? "1h", "expires");
    if (ms < 1_000 || ms > SIGNED_MS_MAX)
      throw new ConfigError(
        "expires",
        `expires: ${showValue(options.expires)} is not between one second and seven days.`,
      );
    return this.#driver.signedUrl(checkKey(key), ms, oneOf(options.method ?? "GET", ["GET", "PUT"], "method"));
  }
}

export const defineStorage = (options: StorageOptions): Storage => new Storage(options);

function checkDriver(driver: unknown): StorageDriver {
  const isDriver = ["put", "get", "head", "delete", "list", "signedUrl"].every(
    (name) => typeof (driver as Record<string, unknown> | undefined)?.[name] === "function",
  );
  if (isDriver) return driver as StorageDriver;
  throw new ConfigError("driver", "driver: pass folderStorage(…), s3Storage(…), or an object with the same methods.");
}

/** Without a slash at its end. */
export function baseUrl(value: unknown, setting: string): string {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : undefined;
  if (url && (url.protocol === "http:" || url.protocol === "https:") && url.search === "" && url.hash === "")
    return url.href.replace(/\/+$/, "");
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not an http or https address without a query.`);
}

/** A header with a line break would be two headers. */
function headerValue(value: unknown, setting: string): string {
  if (typeof value === "string" && /^[\t\u0020-\u007e]{1,500}$/.test(value)) return value;
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not the value of an HTTP header.`);
}

function bytesOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return new Uint8Array(Buffer.from(body, "utf8"));
  if (body instanceof Uint8Array) return body as Uint8Array<ArrayBuffer>;
  throw new ConfigError("body", `storage.put: the body is ${showValue(body)}; pass a Uint8Array, a Buffer or a text.`);
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  webp: "image/webp",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  svg: "image/svg+xml",
  avif: "image/avif",
  json: "application/json",
  txt: "text/plain; charset=utf-8",
  csv: "text/csv; charset=utf-8",
  html: "text/html; charset=utf-8",
  pdf: "application/pdf",
  zip: "application/zip",
  mp4: "video/mp4",
  webm: "video/webm",
  mp3: "audio/mpeg",
};

const contentTypeOf = (key: string): string =>
  CONTENT_TYPES[/\.([a-z0-9]+)$/i.exec(key)?.[1]?.toLowerCase() ?? ""] ?? "application/octet-stream";
