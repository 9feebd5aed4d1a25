// The dashboard's files, read once and served from memory: what is not in the folder does not exist. Hashed names are kept by browsers for ever.
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8",
};

export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'";

export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
};

const FILES_MAX = 500;
const FILE_BYTES_MAX = 8 * 1024 * 1024;
/** As vite writes them: name, hash of eight characters, ending. */
const HASHED = /[-.][\w-]{8,}\.\w+$/;

export const DASHBOARD_FOLDER = fileURLToPath(new URL("../dashboard/", import.meta.url));

type Files = ReadonlyMap<string, Buffer>;

export class StaticFiles {
  readonly #folder: string;
  #reading: Promise<Files> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** `path` begins with a slash; `base` is where the dashboard is mounted. */
  async serve(path: string, base: string): Promise<Response> {
    const files = await this.#files();
    const index = files.get("index.html");
    if (index === undefined) return notBuilt();
    const name = path.slice(1) || "index.html";
    const file = files.get(name);
    if (file !== undefined && name !== "index.html") return fileOf(name, file);
    // Paths without an ending are views of the dashboard.
    if (file === undefined && extname(name) !== "") return textOf(404, "There is no such file.");
    const page = index.toString().replace(/<head>/i, () => `<head><base href="${escaped(base)}/">`);
    return new Response(page, { headers: headersOf(".html", "no-cache") });
  }

  #files(): Promise<Files> {
    this.#reading ??= readFolder(this.#folder).then((files) => {
      // It may be built while this runs.
      if (!files.has("index.html")) this.#reading = undefined;
      return files;
    });
    return this.#reading;
  }
}

async function readFolder(folder: string): Promise<Files> {
  const files = new Map<string, Buffer>();
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  for (const name of names.slice(0, FILES_MAX)) {
    const path = join(folder, name);
    const { size, isFile } = await stat(path).then((of) => ({ size: of.size, isFile: of.isFile() }));
    if (isFile && size <= FILE_BYTES_MAX && !name.endsWith(".map"))
      files.set(name.split(sep).join("/"), await readFile(path));
  }
  return files;
}

const fileOf = (name: string, file: Buffer): Response =>
  new Response(new Uint8Array(file), {
    headers: headersOf(extname(name), HASHED.test(name) ? "public, max-age=31536000, immutable" : "no-cache"),
  });

const headersOf = (ending: string, caching: string): Record<string, string> => ({
  ...SAFE_HEADERS,
  "content-type": TYPES[ending] ?? "application/octet-stream",
  "cache-control": caching,
  ...(ending === ".html" && { "content-security-policy": CSP }),
});

const escaped = (text: string) => text.replaceAll(/[&"<>]/g, (one) => `&#${one.charCodeAt(0)};`);

const textOf = (status: number, text: string): Response =>
  new Response(`${text}\n`, { status, headers: { ...headersOf(".txt", "no-store") } });

const notBuilt = (): Response =>
  textOf(503, "The dashboard is not built here. From a clone: npm run build. The API works: see /api/v1/openapi.json.");
