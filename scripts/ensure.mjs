// Makes a fresh clone ready: dependencies as the lockfile says, and a current build. Needs nothing but Node and npm.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Runs a command in the project's folder, showing what it prints; ends this process when the command fails. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: "inherit", ...options });
  if (result.error) {
    console.error(`Could not run ${command}: ${result.error.message}`);
    process.exit(1);
  }
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/** The path of a tool that a dependency brings. */
export const tool = (name) => join(root, "node_modules", ".bin", process.platform === "win32" ? `${name}.cmd` : name);

function ensureNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major >= 24 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) return;
  console.error(
    `This is Node ${process.versions.node}, and the tools of this repository need 20 (20.19 and newer), 22 (22.12 and newer), or 24 and newer. Install one of them and try again.`,
  );
  process.exit(1);
}

/** Installs the dependencies when what is installed is not what the lockfile says. */
export function ensureInstalled() {
  ensureNode();
  if (installedAsLocked()) return;
  console.log("Installing dependencies (first run, or the lockfile changed) …");
  run(process.platform === "win32" ? "npm.cmd" : "npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
}

/** Also true after an `npm ci` by hand; false after one that was interrupted, or of another lockfile. */
function installedAsLocked() {
  // Written by npm when it is done. It proves no more than that: `npm install --package-lock-only` writes it too.
  if (!existsSync(join(root, "node_modules", ".package-lock.json"))) return false;
  const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  return Object.entries(locked).every(([path, { version, optional }]) => {
    if (path === "") return true;
    const installed = installedVersion(path);
    // The binaries of other platforms are in the lockfile and are not installed.
    return installed === version || (installed === undefined && optional === true);
  });
}

function installedVersion(path) {
  try {
    return JSON.parse(readFileSync(join(root, path, "package.json"), "utf8")).version;
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** When the newest file of a folder was changed. */
export const newest = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((latest, entry) => Math.max(latest, statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs), 0);

/** Compiles `src/` into `dist/`, and joins it to few files, when a source file is newer than the last build. */
export function ensureBuilt() {
  const stamp = join(root, "dist", ".built");
  const source = Math.max(newest(join(root, "src")), statSync(join(root, "tsconfig.build.json")).mtimeMs);
  if (existsSync(stamp) && statSync(stamp).mtimeMs > source) return;
  console.error("Compiling Fairmill …");
  run(tool("tsc"), ["-p", "tsconfig.build.json"]);
  run(process.execPath, [join(root, "scripts", "bundle.mjs")]);
  mkdirSync(join(root, "dist"), { recursive: true });
  writeFileSync(stamp, "");
}
