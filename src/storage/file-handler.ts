// Serves the files of a storage over HTTP, as a fetch handler for any server: cache headers for a CDN in front of it, ETags, and signed
// addresses for what is not public.
import { type Clock, systemClock } from "../base/clock.js";
import { ConfigError } from "../base/errors.js";
import { refuseUnknown } from "../base/settings.js";
import { isSigned } from "./signed-path.js";
import { Storage, type StoredFile } from "./storage.js";
import { checkKey } from "./storage-key.js";

export interface FileHandlerOptions {
  readonly storage: Storage;
  /** The part of the path before the key: "/files". */
  readonly path?: string;
  /** Which keys are public; all others need a signed address. None unless set. */
  readonly isPublic?: (key: string) => boolean;
  /** The secret of the folder storage's signed addresses. */
  readonly secret?: string;
  readonly clock?: Clock;
}

const NOT_FOUND = { status: 404, headers: { "cache-control": "no-store", "content-type": "text/plain" } };
const FORBIDDEN = { ...NOT_FOUND, status: 403 };

/** A fetch handler: `Request → Response`. GET, HEAD, and PUT where the address was signed for it. */
export function createFileHandler(options: FileHandlerOptions): (request: Request) => Promise<Response> {
  refuseUnknown(options, ["storage", "path", "isPublic", "secret", "clock"], "createFileHandler");
  if (!(options.storage instanceof Storage))
    throw new ConfigError("storage", "storage: pass what defineStorage(…) returned.");
  const { storage, isPublic = () => false, secret, clock = systemClock } = options;
  const prefix = `${(options.path ?? "").replace(/\/+$/, "")}/`;

  return async (request) => {
    const url = new URL(request.url);
    const key = url.pathname.startsWith(prefix) ? keyOf(url.pathname.slice(prefix.length)) : undefined;
    if (key === undefined) return new Response("Not found.\n", NOT_FOUND);
    const signedFor = (method: "GET" | "PUT") =>
      secret !== undefined && isSigned(secret, key, method, url.searchParams, clock.now());
    if (request.method === "PUT")
      return signedFor("PUT")
        ? receive(storage, key, request)
        : new Response("This address was not signed for writing.\n", FORBIDDEN);
    if (request.method !== "GET" && request.method !== "HEAD")
      return new Response("Only GET, HEAD and PUT.\n", { status: 405, headers: { allow: "GET, HEAD, PUT" } });
    const isOpen = isPublic(key);
    // The same answer for a missing file and for one that may not be read: an address reveals nothing.
    if (!isOpen && !signedFor("GET"))
      return new Response("This address is not signed, or it has expired.\n", FORBIDDEN);
    return send(storage, key, request, isOpen);
  };
}

function keyOf(path: string): string | undefined {
  try {
    return checkKey(decodeURIComponent(path));
  } catch {
    return undefined;
  }
}

async function send(storage: Storage, key: string, request: Request, isOpen: boolean): Promise<Response> {
  const isHead = request.method === "HEAD";
  const file = isHead ? await storage.head(key) : await storage.get(key);
  if (!file) return new Response("Not found.\n", NOT_FOUND);
  const headers = headersOf(file, isOpen);
  const known = request.headers
    .get("if-none-match")
    ?.split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""));
  if (known?.includes(headers["etag"]!)) return new Response(null, { status: 304, headers });
  return new Response(isHead || !("body" in file) ? null : (file.body as Uint8Array<ArrayBuffer>), { headers });
}

/** A signed address must not be kept by a shared cache: it would outlive its end. */
const headersOf = (file: StoredFile, isOpen: boolean): Record<string, string> => ({
  "content-type": file.contentType,
  "content-length": String(file.bytes),
  "cache-control": isOpen ? file.cacheControl : "private, no-store",
  etag: `"${file.etag}"`,
  "last-modified": file.modifiedAt.toUTCString(),
  // A file is shown as what it was stored as, and runs nothing: an SVG or HTML that a user uploaded stays harmless.
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
});

async function receive(storage: Storage, key: string, request: Request): Promise<Response> {
  const contentType = request.headers.get("content-type") ?? undefined;
  await storage.put(key, new Uint8Array(await request.arrayBuffer()), contentType === undefined ? {} : { contentType });
  return new Response(null, { status: 204 });
}
