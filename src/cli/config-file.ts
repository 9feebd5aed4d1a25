// Finds the project's config file and loads it, in whatever language it is written.
import { existsSync } from "node:fs";
import { access, readFile, realpath } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ConfigError, FairmillError } from "../base/errors.js";
import { type Config, checkConfig } from "../config/config.js";
import { UsageError } from "./failure.js";

export const CONFIG_NAMES = ["fairmill.config.ts", "fairmill.config.js", "fairmill.config.mjs", "fairmill.config.json"];

export interface LoadedConfig {
  readonly path: string;
  readonly settings: Config;
}

/** The path that was asked for, or the nearest config file at or above the current folder; none where none is wanted. */
export async function findConfig(wanted: string | false | undefined): Promise<string | undefined> {
  if (wanted === false) return undefined;
  if (wanted !== undefined) {
    const path = resolve(wanted);
    if (await exists(path)) return path;
    throw new UsageError(`--config: there is no file ${wanted}.`);
  }
  for (const folder of foldersUpwards(process.cwd()))
    for (const file of CONFIG_NAMES) if (await exists(join(folder, file))) return join(folder, file);
  return undefined;
}

export function* foldersUpwards(from: string): Generator<string> {
  for (let folder = from; ; folder = dirname(folder)) {
    yield folder;
    if (dirname(folder) === folder) return;
  }
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** A path as people near it call it. */
export const shownPath = (path: string): string => relative(process.cwd(), path) || path;

/** `onFile` is told of every TypeScript file that is loaded. */
export async function loadConfig(path: string, onFile: (file: string) => void = () => {}): Promise<LoadedConfig> {
  const shown = shownPath(path);
  let exported: unknown;
  try {
    exported = await defaultExport(path, onFile);
  } catch (error) {
    throw notLoaded(shown, path, error);
  }
  if (exported === undefined)
    throw new ConfigError(
      "config",
      `${shown} has no default export. Write: export default defineConfig({ handlers: [ … ] })`,
    );
  return { path, settings: checkConfig(exported, shown) };
}

async function defaultExport(path: string, onFile: (file: string) => void): Promise<unknown> {
  switch (extname(path)) {
    case ".json":
      return JSON.parse(await readFile(path, "utf8"));
    case ".ts":
    case ".mts":
    case ".cts":
      return ((await importTypeScript(path, onFile)) as { default?: unknown }).default;
    default:
      return ((await import(pathToFileURL(path).href)) as { default?: unknown }).default;
  }
}

async function importTypeScript(path: string, onFile: (file: string) => void): Promise<unknown> {
  const { createJiti } = await import("jiti");
  // The config's "fairmill" is this very package: an error class of another copy would not be recognised.
  const virtualModules = {
    fairmill: await import("../index.js"),
    "fairmill/errors": await import("../errors.js"),
    "fairmill/webhooks": await import("../webhooks.js"),
  };
  const url = pathToFileURL(path).href;
  const compiler = createJiti(url, { fsCache: cacheFolder(dirname(path)), interopDefault: false });
  const jiti = createJiti(url, {
    fsCache: false,
    interopDefault: false,
    virtualModules,
    transform: (file) => {
      if (file.filename !== undefined) onFile(file.filename);
      const code = compiler.transform(file);
      return { code: file.filename === undefined ? code : preferTypeScript(code, dirname(file.filename)) };
    },
  });
  return await jiti.import(path);
}

/**
 * Where compiled TypeScript is kept, by its content: each child of a supervisor loads the config, and to compile it takes a second. Only among the
 * project's own packages: a shared temporary folder could be filled by another user.
 */
function cacheFolder(from: string): string | false {
  for (const folder of foldersUpwards(from)) {
    const modules = join(folder, "node_modules");
    if (existsSync(modules)) return join(modules, ".cache", "fairmill");
  }
  return false;
}

/** An import as the compiler leaves it. */
const IMPORT = /\b((?:require|jitiImport|import)\()(["'])(\.\.?\/[^"']*\.[mc]?)js\2/g;

/**
 * TypeScript names `./jobs.ts` as "./jobs.js". Where both are there, the source is meant: the other one is what a compiler left
 * there some time ago.
 */
function preferTypeScript(code: string, folder: string): string {
  return code.replaceAll(IMPORT, (found, call: string, quote: string, file: string) =>
    existsSync(resolve(folder, `${file}ts`)) ? `${call}${quote}${file}ts${quote}` : found,
  );
}

/** Says what the file threw and where, without the frames of the loader. */
function notLoaded(shown: string, path: string, error: unknown): FairmillError {
  if (error instanceof ConfigError) return new ConfigError(error.setting, `${shown}: ${error.message}`);
  const message = error instanceof Error ? error.message : String(error);
  const place = error instanceof Error ? placeIn(dirname(path), error) : undefined;
  // Node keeps the place of a syntax error for itself.
  const advice =
    place === undefined && error instanceof SyntaxError ? ` Run "node --check ${shown}" to see where.` : "";
  const where = place === undefined ? "" : ` (${place})`;
  return new FairmillError(
    "FAIRMILL_CONFIG",
    `${shown} could not be loaded: ${message.split("\n")[0]!.trim()}${where}.${path.endsWith(".json") ? "" : advice}`,
    { cause: error },
  );
}

/** The first place below the config's folder that the error's stack names. */
function placeIn(folder: string, error: Error): string | undefined {
  for (const [, url, line] of (error.stack ?? "").matchAll(/((?:file:\/\/)?\/[^\s():]+):(\d+)/g)) {
    const file = url!.startsWith("file:") ? fileURLToPath(url!) : url!;
    if (file.startsWith(`${folder}/`) && !file.includes("/node_modules/")) return `${shownPath(file)}:${line}`;
  }
  return undefined;
}

/** The folder of another copy of this package that a JavaScript config would import; undefined when it is this one. */
export async function otherCopy(path: string): Promise<string | undefined> {
  if (/\.(json|[mc]?ts)$/.test(path)) return undefined;
  try {
    const theirs = await realpath(createRequire(path).resolve("fairmill/package.json"));
    const ours = await realpath(fileURLToPath(new URL("../../package.json", import.meta.url)));
    return theirs === ours ? undefined : dirname(theirs);
  } catch {
    return undefined;
  }
}
