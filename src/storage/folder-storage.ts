// Files in a folder on disk: the default for development, one machine, or a shared volume. A file is written beside its path and moved
// there, so that no reader sees half of it. What HTTP wants to know of it (content type, caching) lies in a hidden folder of the same shape.
import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Clock, systemClock } from "../base/clock.js";
import { ConfigError } from "../base/errors.js";
import { refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { signedQuery } from "./signed-path.js";
import { baseUrl, type FileInfo, type OpenedFile, type StorageDriver, type StoredFile } from "./storage.js";
import { StorageError } from "./storage-errors.js";
import { urlPathOf } from "./storage-key.js";

export interface FolderOptions {
  readonly path: string;
  /** Where `createFileHandler` serves this folder: signed addresses begin with it. */
  readonly url?: string;
  /** Signs addresses; 32 bytes at least. Needed for signedUrl. */
  readonly secret?: string;
  readonly clock?: Clock;
}

/** Keys never begin with a dot, so nothing can collide with these. */
const ABOUT = ".about";
const UNFINISHED = ".unfinished";

/** ETags of files that were copied there by another program, by the time of that. */
const BY_TIME = "t";
const etagOf = (body: Uint8Array): string => `c${createHash("sha256").update(body).digest("base64url").slice(0, 27)}`;

interface About {
  readonly contentType: string;
  readonly cacheControl: string;
  readonly etag: string;
}

export function folderStorage(options: FolderOptions): StorageDriver & { readonly secret: string | undefined } {
  refuseUnknown(options, ["path", "url", "secret", "clock"], "folderStorage");
  if (typeof options.path !== "string" || options.path === "")
    throw new ConfigError("path", `path: ${showValue(options.path)} is not the path of a folder.`);
  if (options.secret !== undefined && (typeof options.secret !== "string" || Buffer.byteLength(options.secret) < 32))
    throw new ConfigError("secret", "secret: must have at least 32 bytes. Make one with: openssl rand -hex 32");
  return new FolderDriver(
    options.path,
    options.url === undefined ? undefined : baseUrl(options.url, "url"),
    options.secret,
    options.clock ?? systemClock,
  );
}

class FolderDriver implements StorageDriver {
  readonly #folder: string;
  readonly publicBase: string | undefined;
  readonly secret: string | undefined;
  readonly #clock: Clock;

  constructor(folder: string, url: string | undefined, secret: string | undefined, clock: Clock) {
    this.#folder = folder;
    this.publicBase = url;
    this.secret = secret;
    this.#clock = clock;
  }

  async put(
    key: string,
    body: Uint8Array,
    { contentType, cacheControl }: { contentType: string; cacheControl: string },
  ): Promise<StoredFile> {
    const about: About = {
      contentType,
      cacheControl,
      etag: etagOf(body),
    };
    await explained(`writing "${key}"`, async () => {
      await this.#place(join(ABOUT, key), JSON.stringify(about));
      await this.#place(key, body);
    });
    return (await this.head(key))!;
  }

  /** Written under a name of its own, then moved: a move within one file system happens at once. */
  async #place(path: string, content: string | Uint8Array): Promise<void> {
    const unfinished = join(this.#folder, UNFINISHED, randomBytes(12).toString("hex"));
    await mkdir(dirname(unfinished), { recursive: true });
    await writeFile(unfinished, content);
    const target = join(this.#folder, path);
    for (let attempt = 1; ; attempt++) {
      await mkdir(dirname(target), { recursive: true });
      try {
        return await rename(unfinished, target);
      } catch (error) {
        // A delete may have removed the empty folder in between.
        if (codeOf(error) === "ENOENT" && attempt < 10) continue;
        await rm(unfinished, { force: true });
        throw error;
      }
    }
  }

  async get(key: string): Promise<OpenedFile | undefined> {
    return explained(`reading "${key}"`, async () => {
      const body = await ifThere(readFile(join(this.#folder, key)));
      const file = body && (await this.head(key));
      // Another put may have come between the two: the ETag is that of the content that was read.
      const etag = file && (file.etag.startsWith(BY_TIME) ? file.etag : etagOf(body));
      return file && { ...file, etag: etag!, bytes: body.byteLength, body: new Uint8Array(body) };
    });
  }

  async head(key: string): Promise<StoredFile | undefined> {
    return explained(`looking at "${key}"`, async () => {
      const found = await ifThere(stat(join(this.#folder, key)));
      if (!found?.isFile()) return undefined;
      return { key, bytes: found.size, modifiedAt: found.mtime, ...(await this.#aboutOf(key, found.mtimeMs)) };
    });
  }

  /** A file that was put into the folder by another program has no metadata. */
  async #aboutOf(key: string, mtimeMs: number): Promise<About> {
    const noted = await ifThere(readFile(join(this.#folder, ABOUT, key), "utf8"));
    return noted === undefined
      ? { contentType: "application/octet-stream", cacheControl: "no-cache", etag: `${BY_TIME}${mtimeMs}` }
      : (JSON.parse(noted) as About);
  }

  async delete(key: string): Promise<boolean> {
    return explained(`removing "${key}"`, async () => {
      const found = await ifThere(stat(join(this.#folder, key)));
      if (!found?.isFile()) return false;
      await rm(join(this.#folder, key), { force: true });
      await rm(join(this.#folder, ABOUT, key), { force: true });
      await this.#removeEmpty(dirname(key));
      await this.#removeEmpty(join(ABOUT, dirname(key)));
      return true;
    });
  }

  /** Folders that became empty go, up to the storage's own. */
  async #removeEmpty(path: string): Promise<void> {
    for (let folder = path; folder !== "." && folder !== ABOUT; folder = dirname(folder))
      try {
        await rmdir(join(this.#folder, folder));
      } catch {
        return;
      }
  }

  async list({ prefix, after, limit }: { prefix: string; after: string; limit: number }): Promise<readonly FileInfo[]> {
    const files: FileInfo[] = [];
    await explained("listing files", () => this.#walk("", prefix, after, limit, files));
    return files;
  }

  /** In the order of whole keys: a folder counts as its name with a slash. Whole folders outside of what is asked for are not opened. */
  async #walk(folder: string, prefix: string, after: string, limit: number, files: FileInfo[]): Promise<void> {
    const entries = (await ifThere(readdir(join(this.#folder, folder), { withFileTypes: true }))) ?? [];
    const keys = entries
      .filter(({ name }) => !name.startsWith("."))
      .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`)
      .sort(byBytes);
    for (const key of keys) {
      if (files.length >= limit) return;
      if (key.endsWith("/")) {
        if (overlaps(key, prefix) && (byBytes(key, after) > 0 || after.startsWith(key)))
          await this.#walk(key, prefix, after, limit, files);
      } else if (key.startsWith(prefix) && byBytes(key, after) > 0) {
        const found = await ifThere(stat(join(this.#folder, key)));
        if (found?.isFile()) files.push({ key, bytes: found.size, modifiedAt: found.mtime });
      }
    }
  }

  async signedUrl(key: string, expiresMs: number, method: "GET" | "PUT"): Promise<string> {
    if (this.publicBase === undefined || this.secret === undefined)
      throw new ConfigError(
        "secret",
        "signedUrl: this folder storage needs url (where createFileHandler serves it) and secret.",
      );
    const expiresAtMs = Math.ceil(this.#clock.now() + expiresMs);
    return `${this.publicBase}/${urlPathOf(key)}?${signedQuery(this.secret, { key, method, expiresAtMs })}`;
  }
}

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const overlaps = (folder: string, prefix: string): boolean => folder.startsWith(prefix) || prefix.startsWith(folder);

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code;

/** Undefined where there is no such file, or where a part of its path is no folder. */
async function ifThere<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR" || codeOf(error) === "EISDIR") return undefined;
    throw error;
  }
}

async function explained<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    const why =
      code === "ENOSPC"
        ? "the disk is full"
        : code === "EACCES" || code === "EPERM"
          ? "the folder may not be entered or written"
          : String((error as Error).message);
    throw new StorageError(`The folder storage failed when ${doing}: ${why}.`, { cause: error });
  }
}
