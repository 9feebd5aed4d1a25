// Files in a bucket of Amazon S3 or anything that speaks its language (R2, MinIO, Ceph, Supabase Storage): signed HTTP requests by fetch,
// a time limit for each, and no library.
import { type Clock, systemClock } from "../base/clock.js";
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { decodeXml, elementOf, elementsOf } from "./s3-answer.js";
import { type S3Credentials, signHeaders, signUrl } from "./sign-s3.js";
import { baseUrl, type FileInfo, type OpenedFile, type StorageDriver, type StoredFile } from "./storage.js";
import { StorageError } from "./storage-errors.js";
import { urlPathOf } from "./storage-key.js";

export interface S3Options {
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** `us-east-1` unless set; `auto` for R2. */
  readonly region?: string;
  /** The service's address; Amazon's for the region unless set. */
  readonly endpoint?: string;
  /** How long one request may take. */
  readonly timeout?: Duration;
  readonly clock?: Clock;
}

const KNOWN = ["bucket", "accessKeyId", "secretAccessKey", "sessionToken", "region", "endpoint", "timeout", "clock"];
/** Of an answer that is an error. */
const ANSWER_CHARACTERS_MAX = 300;

export function s3Storage(options: S3Options): StorageDriver {
  refuseUnknown(options, KNOWN, "s3Storage");
  for (const name of ["bucket", "accessKeyId", "secretAccessKey"] as const)
    if (typeof options[name] !== "string" || options[name] === "")
      throw new ConfigError(
        name,
        `s3Storage: ${name} is ${name === "secretAccessKey" ? "missing" : showValue(options[name])}; give a text.`,
      );
  return new S3Driver(options);
}

class S3Driver implements StorageDriver {
  readonly #credentials: S3Credentials;
  readonly #base: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;

  constructor(options: S3Options) {
    const region = options.region ?? "us-east-1";
    this.#credentials = {
      accessKeyId: options.accessKeyId,
      secretAccessKey: options.secretAccessKey,
      sessionToken: options.sessionToken,
      region,
    };
    const endpoint = baseUrl(options.endpoint ?? `https://s3.${region}.amazonaws.com`, "endpoint");
    this.#base = `${endpoint}/${urlPathOf(options.bucket)}`;
    this.#timeoutMs = toMs(options.timeout ?? "60s", "timeout");
    this.#clock = options.clock ?? systemClock;
  }

  get publicBase(): string {
    return this.#base;
  }

  async put(
    key: string,
    body: Uint8Array<ArrayBuffer>,
    about: { contentType: string; cacheControl: string },
  ): Promise<StoredFile> {
    const answer = await this.#send(
      "PUT",
      this.#urlOf(key),
      { "content-type": about.contentType, "cache-control": about.cacheControl },
      body,
    );
    await answer.body?.cancel();
    return { key, bytes: body.byteLength, modifiedAt: new Date(this.#clock.now()), ...about, etag: etagOf(answer) };
  }

  async get(key: string): Promise<OpenedFile | undefined> {
    const answer = await this.#sendIfThere("GET", key);
    if (!answer) return undefined;
    const body = new Uint8Array(await answer.arrayBuffer());
    return { ...fileOf(key, answer), bytes: body.byteLength, body };
  }

  async head(key: string): Promise<StoredFile | undefined> {
    const answer = await this.#sendIfThere("HEAD", key);
    return answer && fileOf(key, answer);
  }

  /** S3 answers the same whether there was a file or not. */
  async delete(key: string): Promise<boolean> {
    const answer = await this.#sendIfThere("DELETE", key);
    await answer?.body?.cancel();
    return answer !== undefined;
  }

  async list({ prefix, after, limit }: { prefix: string; after: string; limit: number }): Promise<readonly FileInfo[]> {
    const url = new URL(this.#base);
    const query = {
      "list-type": "2",
      "max-keys": String(limit),
      "encoding-type": "url",
      ...(prefix && { prefix }),
      ...(after && { "start-after": after }),
    };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const text = await (await this.#send("GET", url)).text();
    if (elementOf(text, "ListBucketResult") === undefined)
      throw new StorageError("The storage answered a list with something that is none.");
    return elementsOf(text, "Contents").map((item) => ({
      key: decodeURIComponent(decodeXml(elementOf(item, "Key") ?? "").replaceAll("+", "%20")),
      bytes: Number(elementOf(item, "Size")),
      modifiedAt: new Date(elementOf(item, "LastModified") ?? 0),
    }));
  }

  async signedUrl(key: string, expiresMs: number, method: "GET" | "PUT"): Promise<string> {
    return signUrl(
      this.#credentials,
      method,
      this.#urlOf(key),
      Math.floor(expiresMs / 1_000),
      new Date(this.#clock.now()),
    );
  }

  #urlOf(key: string): URL {
    return new URL(`${this.#base}/${urlPathOf(key)}`);
  }

  async #sendIfThere(method: string, key: string): Promise<Response | undefined> {
    try {
      return await this.#send(method, this.#urlOf(key));
    } catch (error) {
      if (error instanceof StorageError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #send(
    method: string,
    url: URL,
    headers: Record<string, string> = {},
    body: Uint8Array<ArrayBuffer> | "" = "",
  ): Promise<Response> {
    const signed = signHeaders(this.#credentials, { method, url, headers, body }, new Date(this.#clock.now()));
    let answer: Response;
    try {
      answer = await fetch(canonical(url), {
        method,
        headers: signed,
        redirect: "manual",
        signal: AbortSignal.timeout(this.#timeoutMs),
        ...(body === "" ? {} : { body }),
      });
    } catch (error) {
      throw new StorageError(`The storage at ${url.origin} could not be reached: ${reasonOf(error)}.`, {
        cause: error,
      });
    }
    if (answer.ok) return answer;
    const text = (await answer.text()).slice(0, 10_000);
    const why = decodeXml(elementOf(text, "Message") ?? text).slice(0, ANSWER_CHARACTERS_MAX);
    throw new StorageError(
      `The storage at ${url.origin} refused ${method} ${url.pathname} with ${answer.status}: ${why || "no reason given"}.`,
      { status: answer.status },
    );
  }
}

/** As it was signed: URLSearchParams would write a space as a plus. */
const canonical = (url: URL): string =>
  url.search === ""
    ? url.href
    : `${url.origin}${url.pathname}?${[...url.searchParams].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&")}`;

const etagOf = (answer: Response): string => (answer.headers.get("etag") ?? "").replaceAll('"', "");

const fileOf = (key: string, answer: Response): StoredFile => ({
  key,
  bytes: Number(answer.headers.get("content-length") ?? 0),
  modifiedAt: new Date(answer.headers.get("last-modified") ?? 0),
  contentType: answer.headers.get("content-type") ?? "application/octet-stream",
  cacheControl: answer.headers.get("cache-control") ?? "",
  etag: etagOf(answer),
});

const reasonOf = (error: unknown): string => {
  const { name, message, cause } = error as Error & { cause?: Error };
  return name === "TimeoutError" ? "it did not answer in time" : (cause?.message ?? message);
};
